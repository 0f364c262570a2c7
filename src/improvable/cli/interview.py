"""The questions of `improvable init`: one for each thing that an audit must know, each checked as it is answered."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from improvable.cli.glimpse import Glimpse
from improvable.cli.output import say, spelled
from improvable.cli.settings import parsed, status_quo_from
from improvable.errors import ImprovableError, OptionError, nearest
from improvable.question.checks import FLAG, SAME_SHARE, STATUS_QUO, Setting, as_names, parse_names
from improvable.question.settings import SETTINGS, STATUS_QUO_KEYS, Settings

NONE = "none"
"""The answer that takes a proposal back."""
KNOWN = {**STATUS_QUO_KEYS, **SETTINGS}
Check = Callable[[Glimpse, Any], None]


class Interview:
    """Answers by the name of the setting; those of an earlier round are proposed again.

    Parameters
    ----------
    data : Glimpse, optional
        The data, if they are at hand: they refuse some answers, and propose others.
    """

    def __init__(self, data: Glimpse | None = None) -> None:
        self.data = data
        self.answers: dict[str, Any] = {}
        self.asked: set[str] = set()

    def settings(self, trial: Mapping[str, Any] | None = None) -> Settings:
        """What the answers of this round, and those on trial, amount to."""
        given = {name: value for name, value in self.answers.items() if name in self.asked and value is not None}
        given |= trial or {}
        described: dict[str, Any] = {str(key): given.pop(key) for key in ("score", "above", "decision") if key in given}
        if "score" in described and "above" not in described and "capacity" in given:
            described["capacity"] = given["capacity"]
        complete = "decision" in described or len(described) == 2
        status_quo = status_quo_from(described) if complete else {"decision": "?"}
        return Settings(**{"outcome": "?", "group": "??", **given}, status_quo=status_quo)

    def conduct(self) -> Settings:
        """Ask everything once; Enter accepts what is in brackets."""
        self.asked = set()
        self._columns()
        self._status_quo()
        self._rule()
        self._claim()
        self._test()
        self._anything_else()
        return self.settings()

    # The sections of a protocol, in order. ----

    def _columns(self) -> None:
        self.answers.pop("positive", None)
        self.ask("outcome", "Outcome: the column that says how each person fared", check=Glimpse.check_there)
        if not self._ask_which_is_meant("outcome"):
            self.ask("lower_is_better", "Is a lower outcome better, as with costs?")
        self.ask("group", "Group: the column, or columns, of the groups to compare", check=Glimpse.check_groups)
        self.ask("weight", "Weight: a column that says how many people a row stands for", check=Glimpse.check_numbers)
        self.ask(
            "cluster",
            "Cluster: a column of rows that belong together, such as a clinic",
            check=Glimpse.check_there,
        )
        if self.answers["cluster"] is not None:
            self.ask(
                "stratum",
                "Stratum: a survey's column within which clusters were sampled",
                check=Glimpse.check_there,
            )

    def _status_quo(self) -> None:
        by_score = typer.confirm(
            "Does the algorithm in use select by a score? (If not, name a column of its decisions)",
            "decision" not in self.answers,
        )
        for name in ("decision",) if by_score else ("score", "above"):
            self.answers.pop(name, None)
        if not by_score:
            self.ask("decision", "Decisions: their column", check=Glimpse.check_there)
            self._ask_which_is_meant("decision")
            self._same_share()
            return
        self.ask("score", "Score: its column", check=Glimpse.check_numbers)
        top = "Does it select the top share of the score? (If not, all above a cutoff)"
        if typer.confirm(top, "above" not in self.answers):
            self.answers.pop("above", None)
            self._top_share()
            return
        self.ask("above", "Cutoff: it selects scores above", needed=True, check=self._check_cutoff)
        self._same_share()

    def _check_cutoff(self, data: Glimpse, above: Any) -> None:
        data.check_cutoff(self.answers["score"], above)

    def _top_share(self) -> None:
        """A score alone does not say how many it selects; a column of decisions beside it may."""
        found, answers = None, self.answers
        if self.data is not None:
            found = self.data.share_of_score(answers["score"], answers["outcome"], answers["weight"])
        if found is not None:
            say(f"Column '{found[0]}' selects exactly the top {found[1]:.1%} of that score.")
        if answers.get("capacity") in (None, SAME_SHARE):
            answers.pop("capacity", None)
        self.ask("capacity", "Share of people it selects", found[1] if found else None, needed=True)

    def _same_share(self) -> None:
        known, data, answers = "", self.data, self.answers
        if data is not None:
            if "above" in answers:
                share = data.share_above(answers["score"], answers["above"], answers["weight"])
            else:
                share = data.share_of_decisions(
                    answers["decision"], (answers.get("positive") or {}).get(answers["decision"]), answers["weight"]
                )
            known = "" if share is None else f"; the status quo selects {share:.1%}"
        self.ask("capacity", f"Share of people that a candidate may select: a number, or same{known}", SAME_SHARE)

    def _rule(self) -> None:
        self.ask("rule", "Rule that looks for a candidate")
        self.ask(
            "features",
            "Columns that a candidate may read (none named: all but ids and those above)",
            check=Glimpse.check_matches,
        )
        suspects = self.data.suspects(self.settings()) if self.data else []
        if suspects:
            say(f"These tell the outcome or the group, or nearly: {written(suspects)}. See improvable check.")
        self.ask(
            "exclude",
            "Columns that it may not read (* stands for anything)",
            suspects or None,
            check=Glimpse.check_matches,
        )

    def _claim(self) -> None:
        self.ask("selection", "Is being selected a benefit or a burden?")
        self.ask("accuracy", "Accuracy of a group: a utility, such as calibration or true_positive_rate")
        self.ask("fairness", "Fairness: the utility whose gap must shrink (none named: that of accuracy)")
        self.ask("delta_fairness", "Smallest share by which the gap must shrink")
        self.ask("delta_accuracy", "Smallest share by which accuracy must rise")

    def _test(self) -> None:
        self.ask("scheme", "How a repetition uses the rows: forward, or the paper's split")
        self.ask("repetitions", "How many repetitions")
        self.ask("alpha", "Level of the test")
        names = ("outcome", "group", "weight", "cluster", "stratum", "score", "decision")
        needed = [one for name in names if name in self.asked for one in as_names(self.answers[name])]
        lacking = self.data.missing(needed) if self.data else ""
        if lacking:
            self.ask("drop_missing", f"Values are missing: {lacking}. Drop those rows?", True)

    def _anything_else(self) -> None:
        """Every other key of a protocol, by its name; those of an earlier round without being named."""
        for name in [name for name in self.answers if name not in self.asked]:
            self.ask(name, SETTINGS[name].help)
        while True:
            done = {*self.asked, STATUS_QUO, "seed"}
            others = [one.name for one in SETTINGS.values() if one.section and one.name not in done]
            asked = typer.prompt("Anything else? Name a setting, ? for a list, or press Enter", "", show_default=False)
            name = str(asked).strip()
            if not name:
                return
            if name == "?":
                for other in others:
                    say(f"  {other}: {SETTINGS[other].help}")
            elif name in others:
                self.ask(name, SETTINGS[name].help)
            else:
                say(f"there is nothing else called '{name}'. {nearest(name, others)}")

    # One question. ----

    def ask(
        self, name: str, question: str, default: Any = None, *, needed: bool = False, check: Check | None = None
    ) -> None:
        """Ask until the answer is one, and keep it; None where there is none.

        Parameters
        ----------
        default : Any
            What is proposed where there is no earlier answer; by default what the setting is elsewhere.
        needed : bool
            Whether it must be answered, though the setting may be left out elsewhere.
        check : callable, optional
            Refuses values that the data contradict.
        """
        from improvable.procedure.planning import make_plan

        setting = KNOWN[name]
        must = needed or setting.required or name in ("score", "decision")
        proposed = self.answers.get(name, setting.default if default is None else default)
        while True:
            try:
                value = _answer(setting, question, proposed, must)
                if value is not None:
                    make_plan(self.settings({name: value}))
                    if check is not None and self.data is not None:
                        check(self.data, value)
            except ImprovableError as error:
                say(spelled(error))
            else:
                self.answers[name] = value
                self.asked.add(name)
                return

    def _ask_which_is_meant(self, name: str) -> bool:
        """Of a column with two values, such as yes and no, ask which is meant; whether it has two.

        A decision of 1 is a selection. An outcome of 1 may be a default, and nobody but the user knows.
        """
        column = self.answers[name]
        levels = self.data.two_levels(column) if self.data else []
        if not levels or (name == "decision" and levels == ["0", "1"]):
            return bool(levels)
        while (one := str(typer.prompt(_meaning(name, column, levels))).strip()) not in levels:
            say(f"'{column}' does not hold '{one}'. {nearest(one, levels)}")
        if (levels, one) != (["0", "1"], "1"):
            self.answers["positive"] = {**(self.answers.get("positive") or {}), column: one}
            self.asked.add("positive")
        return True


def _answer(setting: Setting, question: str, proposed: Any, must: bool) -> Any:
    if setting.kind is FLAG:
        return typer.confirm(question, bool(proposed))
    shown = written(proposed)
    text = str(typer.prompt(question) if must and not shown else typer.prompt(question, shown or NONE)).strip()
    return None if text == NONE and not must else value_of(setting, text)


def value_of(setting: Setting, text: str) -> Any:
    """A setting's value from the text of an answer, as the command line would read it.

    Examples
    --------
    >>> value_of(SETTINGS["draws"], "200"), value_of(SETTINGS["capacity"], "same"), value_of(SETTINGS["group"], "a, b")
    (200, 'status_quo', ['a', 'b'])
    """
    option = setting.kind.option
    try:
        given = [text] if option == list[str] else option(text)
    except ValueError:
        raise OptionError(f"{setting.name} is '{text}'.", f"It must be {setting.kind.words}.") from None
    value = parsed([setting], {setting.name: given}).get(setting.name)
    if value is None or value == "":
        raise OptionError(f"{setting.name} is empty.", f"It must be {setting.kind.words}.")
    return value


def written(value: Any) -> str:
    """A value as an answer is written; "" where there is none.

    Examples
    --------
    >>> written(["age", "income, net"]), written(0.05), written("status_quo"), written({"a": 0.1})
    ('age,"income, net"', '0.05', 'same', 'a:0.1')
    """
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{one:g}" if isinstance(one, float) else f"{name}:{one}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ",".join(f'"{name}"' if parse_names(name) != [name] else name for name in value)
    if isinstance(value, float):
        return f"{value:g}"
    return "same" if value == SAME_SHARE else str(value)


def _meaning(name: str, column: str, levels: Sequence[str]) -> str:
    if name == "outcome":
        return f"Whom should the algorithm select: those whose '{column}' is '{levels[0]}', or '{levels[1]}'"
    return f"Which value of '{column}' means selected: '{levels[0]}' or '{levels[1]}'"

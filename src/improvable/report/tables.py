"""The paper's table, built once: text, Markdown, LaTeX and HTML each only write it down."""

from dataclasses import dataclass

from improvable.results.facts import ComponentFacts, Facts, by_component, mean_of
from improvable.results.numbers import p_text, value_text
from improvable.results.words import candidate_words, component_name, draws_text

MOST_BLOCKS = 4
STATUS_QUO, CANDIDATE = "status quo", "candidate"


@dataclass(frozen=True)
class Block:
    """Columns that belong together.

    Attributes
    ----------
    title : str
        Empty for the last column, the p-value of all conditions together.
    heads : tuple of str
    """

    title: str
    heads: tuple[str, ...]


@dataclass(frozen=True)
class PaperTable:
    """The table of Section 6: for each condition the status quo, the candidate and p; last the repetition's p.

    More conditions than fit on a page become rows: means over the repetitions, and p in every repetition.

    Attributes
    ----------
    blocks : tuple of Block
    rows : list of list of str
        The row's name, then the cells of all blocks.
    closing : int
        How many rows at the end sum up the others.
    note : str
    by_repetition : bool
        Whether a row is a repetition, not a condition.
    places : tuple of int
        Where a row is a condition: the row of each.
    """

    blocks: tuple[Block, ...]
    rows: list[list[str]]
    closing: int
    note: str
    by_repetition: bool = True
    places: tuple[int, ...] = ()

    @property
    def heads(self) -> list[str]:
        """Heads of all columns but the first."""
        return [head for block in self.blocks for head in block.heads]


def paper_table(facts: Facts, most: int = MOST_BLOCKS) -> PaperTable:
    """The table of any result; up to `most` conditions stand beside each other."""
    return _by_repetition(facts) if len(by_component(facts)) <= most else _by_component(facts)


def _by_repetition(facts: Facts) -> PaperTable:
    components, draws = by_component(facts), facts["draws"]
    blocks = [Block(_title(one[0], facts), _heads(one[0], facts)) for one in components]
    rows = []
    for k, repetition in enumerate(facts["repetitions"]):
        name = f"Repetition {repetition['repetition']}" if facts["kind"] == "audit" else "Held-out rows"
        cells = [cell for one in components for cell in _cells(one[k], draws)]
        rows.append([name, *cells, p_text(repetition["p_value"], draws)])
    closing = _closing_rows(facts) if len(rows) > 1 else []
    note = f"{_note(facts)} The last p is the largest of its row. {_decides(facts, 'beside')}"
    return PaperTable((*blocks, Block("", ("p",))), rows + closing, len(closing), note)


def _by_component(facts: Facts) -> PaperTable:
    repetitions, draws = facts["repetitions"], facts["draws"]
    rows: list[list[str]] = []
    places = []
    for one in by_component(facts):
        places.append(len(rows))
        name = _title(one[0], facts)
        rows.append([name, *_means(one), *(p_text(repetition["p_value"], draws) for repetition in one)])
        others = [repetition["p_other"] for repetition in one if repetition["p_other"] is not None]
        if others:
            rows.append([f"{name}, {_other(facts)} statistic", "", "", *(p_text(p, draws) for p in others)])
    closing = [["All conditions", "", "", *(repetition["p_value_text"] for repetition in repetitions)]]
    many = len(repetitions) > 1
    if many:
        name = "Lower median"
        closing.append([name, "", "", facts["p_value_text"], *[""] * (len(repetitions) - 1)])
    heads = tuple(str(repetition["repetition"]) for repetition in repetitions) if many else ("held out",)
    over = "p, repetition" if many else "p"
    blocks = (Block("Mean over repetitions" if many else "Estimate", (STATUS_QUO, CANDIDATE)), Block(over, heads))
    note = f"{_note(facts)} All conditions: the largest p of those that decide. {_decides(facts, 'below')}"
    return PaperTable(blocks, rows + closing, len(closing), note, False, tuple(places))


def _closing_rows(facts: Facts) -> list[list[str]]:
    """Means of the estimates, and the combined p-value."""
    means, blanks = ["Mean"], ["Lower median"]
    for one in by_component(facts):
        width = len(_heads(one[0], facts))
        means += [*_means(one), *[""] * (width - 2)]
        blanks += [""] * width
    return [[*means, ""], [*blanks, facts["p_value_text"]]]


def _title(component: ComponentFacts, facts: Facts) -> str:
    name = component_name(component, facts)
    return name[:1].upper() + name[1:]


def _heads(component: ComponentFacts, facts: Facts) -> tuple[str, ...]:
    if component["kind"] == "accuracy":
        return STATUS_QUO, CANDIDATE, "p"
    return STATUS_QUO, CANDIDATE, f"{facts['gap_statistic']} p", f"{_other(facts)} p"


def _cells(component: ComponentFacts, draws: int) -> list[str]:
    p_values = [p for p in (component["p_value"], component["p_other"]) if p is not None]
    values = [value_text(component["status_quo"]), value_text(component["candidate"])]
    return [*values, *(p_text(p, draws) for p in p_values)]


def _means(component: tuple[ComponentFacts, ...]) -> list[str]:
    return [value_text(mean_of(component, "status_quo")), value_text(mean_of(component, "candidate"))]


def _other(facts: Facts) -> str:
    return "absolute" if facts["gap_statistic"] == "signed" else "signed"


def _decides(facts: Facts, where: str) -> str:
    if facts["ask"] == "accuracy":
        return "Only accuracy is asked for."
    only = "Only the gap is asked for. " if facts["ask"] == "fairness" else ""
    return f"{only}The {facts['gap_statistic']} gap statistic decides; p of the {_other(facts)} one is {where} it."


def _note(facts: Facts) -> str:
    found = f"{candidate_words(facts)} " if facts["kind"] == "audit" else ""
    return f"{found}p-values come from {draws_text(facts)}."

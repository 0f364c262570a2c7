"""What pages of simulations are made of: shares with their Monte Carlo errors, and
tables.
"""

from collections.abc import Callable, Mapping, Sequence

from validity.study import ALPHA, Found, Rate

ERRORS = 3.0
SELDOM = 0.05
FEWEST = 10
"""Samples; a part of the study with fewer is not on the page."""
Study = Mapping[str, Found]
"""What was found, by the name of the unit."""
Studies = Mapping[str, Study]
WAYS: dict[str, Callable[[Found], Rate]] = {
    "forward, one at 5%": lambda found: found.share("forward, one"),
    "forward, median at 2.5%": lambda found: found.below("forward", ALPHA / 2),
    "split, one at 5%": lambda found: found.share("split, one"),
    "split, median at 2.5%": lambda found: found.below("split", ALPHA / 2),
}
"""What an audit's levels are: one repetition held against 5%, and the lower median of
seven against 2.5%.
"""


def exceeds(one: Rate, level: float = ALPHA) -> bool:
    """Whether a rate is above the level by more than three Monte Carlo errors."""
    return one.exceeds(level, ERRORS)


def shown(one: Rate, mark: bool = False, level: float = ALPHA) -> str:
    """A share with its Monte Carlo error; where `mark`, in bold if it is above the
    level beyond that error.
    """
    error = one.error or (level * (1 - level) / one.samples) ** 0.5
    text = f"{one.share:.3f} ± {error:.3f}"
    return f"**{text}**" if mark and exceeds(one, level) else text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "*(Not run yet.)*"
    return "\n".join(
        "| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows]
    )


def times(found: Sequence[Found]) -> str:
    """How many samples, fewest and most."""
    counts = sorted({one.samples for one in found}) or [0]
    return " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))


def cautions(found: Found, start: str = "caution: ") -> str:
    """Which cautions fired how often; those that are rare are left out."""
    fired = sorted(found.kinds(start).items())
    return ", ".join(f"{kind} {share:.0%}" for kind, share in fired if share >= SELDOM)


def part(study: Study, start: str) -> dict[str, Found]:
    """The units of a study whose names begin so, by the rest of the name; those that
    were run.
    """
    names = [
        name
        for name, one in study.items()
        if name.startswith(f"{start}/") and was_run(one)
    ]
    return {name.removeprefix(f"{start}/"): study[name] for name in names}


def was_run(found: Found) -> bool:
    return found.samples >= FEWEST


def pooled(rates: Sequence[Rate]) -> str:
    """One share of several independent studies."""
    if not rates:
        return "(not run)"
    total = sum(one.samples for one in rates)
    share = sum(one.share * one.samples for one in rates) / total
    error = sum((one.error * one.samples) ** 2 for one in rates) ** 0.5 / total
    return f"{share:.4f} ± {error:.4f}"

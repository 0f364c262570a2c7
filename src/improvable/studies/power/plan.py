"""The result of planning: numbers, table, words and picture."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from improvable.data.frame import build_frame
from improvable.errors import OptionError
from improvable.question.claim import Claim
from improvable.studies.power.learning import Learning
from improvable.studies.power.simulate import PowerPoint, SampleSize

if TYPE_CHECKING:
    import altair as alt

NOT_EVIDENCE = "Power at an estimated or assumed effect is not evidence that the effect exists."
OTHER_ROWS = (
    "Plan on rows other than those to be audited: a train fraction or a rule chosen because it does well on some rows "
    "cannot be tested at the stated level on those rows."
)


@dataclass(frozen=True)
class PowerPlan:
    """The result of `power_from_pilot` and `power_from_assumptions`.

    Attributes
    ----------
    asked : PowerPoint
        The power in the setting asked for.
    best : PowerPoint
        The most power of the paper's split among the train fractions tried, all else as asked.
    points : tuple of PowerPoint
        All curves.
    sample_sizes : tuple of SampleSize
        Side by side: forward repetitions, and the paper's split with the train fraction asked for and the best one.
    learns : bool
        Whether the candidate depends on training rows.
    basis, cautions : tuple of str
        What the plan rests on, and what to beware of.
    learned : Learning or None
        What the rule reached with more training rows; None without a pilot.
    """

    asked: PowerPoint
    best: PowerPoint
    points: tuple[PowerPoint, ...]
    sample_sizes: tuple[SampleSize, ...]
    wanted: float
    alpha: float
    claim: Claim
    groups: tuple[str, ...]
    learns: bool
    simulations: int
    seed: int
    basis: tuple[str, ...]
    cautions: tuple[str, ...]
    backend: Any = field(repr=False)
    learned: Learning | None = field(default=None, repr=False)

    def learning(self) -> Learning:
        """The candidate's utilities and gap against the number of training rows, and whether more would help."""
        if self.learned is None:
            raise OptionError("an assumed candidate does not learn.", "Plan from a pilot to see how the rule learns.")
        return self.learned

    @property
    def best_fractions(self) -> list[float]:
        """The train fractions whose power the simulation cannot tell from the best."""
        tried = [(p.train_fraction, p.power) for p in self.points if p.varied == "train_fraction"]
        return [one for one, power in tried if one is not None and self.best.power - power <= 2 * self.best.error]

    @property
    def hopeless(self) -> bool:
        """Whether no number of rows that was tried reaches the wanted power, by any scheme."""
        return all(size.rows is None for size in self.sample_sizes)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, ready for JSON."""
        import improvable

        asked, best, claim = self.asked, self.best, self.claim.to_dict()
        return {
            "kind": "power",
            "power": asked.power,
            "error": asked.error,
            "range": None if asked.low is None else [asked.low, asked.high],
            **{name: getattr(asked, name) for name in ("rows", "scheme", "train_fraction", "repetitions")},
            "wanted": self.wanted,
            "sample_sizes": [asdict(size) for size in self.sample_sizes],
            "best_train_fraction": best.train_fraction,
            "best_power": best.power,
            "as_good_train_fractions": self.best_fractions,
            "alpha": self.alpha,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in claim.items()},
            "groups": list(self.groups),
            "points": [asdict(point) for point in self.points],
            "learning": None if self.learned is None else self.learned.to_dict(),
            "simulations": self.simulations,
            "seed": self.seed,
            "basis": list(self.basis),
            "words": self._findings(),
            "warnings": [*self.cautions, *self._notes()],
            "version": improvable.__version__,
        }

    def table(self) -> Any:
        """All points as a data frame of the pilot's own kind."""
        rows = [asdict(point) for point in self.points]
        return build_frame({name: [row[name] for row in rows] for name in rows[0]}, self.backend)

    def csv(self) -> str:
        """All points as the text of a CSV file."""
        import polars as pl

        return pl.DataFrame([asdict(point) for point in self.points], infer_schema_length=None).write_csv()

    def summary(self) -> str:
        """The plan in words, with the curves as tables."""
        from improvable.report.layout import paragraph

        if self.hopeless:
            return "\n".join(map(paragraph, [*self._findings(), *(f"Caution: {text}" for text in self.cautions)]))
        parts = [*map(paragraph, self._findings()), "", *map(paragraph, self.basis), "", *self._tables(), ""]
        parts += [] if self.learned is None else [self.learned.summary(), ""]
        return "\n".join([*parts, *map(paragraph, [*self._notes(), *(f"Caution: {text}" for text in self.cautions)])])

    def plot(self) -> "alt.LayerChart":
        """Power against rows: of forward repetitions, and of the paper's split, as asked for and at its best."""
        from improvable.report.plots.power import power_curves

        rows: list[dict[str, Any]] = [
            {"x": p.rows, "series": scheme_name(p), "power": p.power, "error": p.error}
            for p in self.points
            if p.varied == "rows"
        ]
        widest = max(row["x"] for row in rows)
        marks = [size.rows for size in self.sample_sizes if size.rows is not None and size.rows <= widest]
        subtitle = [f"{self.simulations:,} simulated audits per point; repetitions in each: {self.asked.repetitions}."]
        if marks:
            subtitle.append(f"Dotted: rows that reach a power of {self.wanted:g}.")
        title = "Probability that the audit rejects"
        return power_curves(rows, x_title="rows", title=title, subtitle=subtitle, level=self.alpha, marks=marks)

    def _findings(self) -> list[str]:
        asked, best = self.asked, self.best
        times = f"{asked.repetitions} {'repetition' if asked.repetitions == 1 else 'repetitions'}"
        how = times.replace(" ", " forward ") if asked.scheme == "forward" else f"{times} of {scheme_words(asked)}"
        says = f"with {asked.rows:,} rows and {how}, the audit rejects with probability {number(asked.power)}"
        out = []
        if asked.low is not None and asked.high is not None:
            out.append(
                f"Another pilot of this size could have said {number(asked.low)} to {number(asked.high)}, an 80% range "
                "of the audit's power."
            )
        says = f"This one says: {says}" if out else f"W{says[1:]}"
        if self.hopeless:
            most = max(size.most_tried for size in self.sample_sizes)
            return [*out, f"{says}, and no number of rows up to {most:,} makes that {number(self.wanted)}."]
        out.append(f"{says} (Monte Carlo error {number(asked.error, 3)}).")
        sizes = self.sample_sizes if self.learns else self.sample_sizes[:2]
        out += [*map(self._size_words, sizes), self._side_by_side()]
        same = [f"{fraction:g}" for fraction in self.best_fractions if fraction != best.train_fraction]
        also = f"; within Monte Carlo error of it: {', '.join(same)}" if same else ""
        if not self.learns:
            also += "; but the assumed candidate does not learn, so leave a real rule enough rows"
        out.append(
            f"Best train fraction of the paper's split, of those tried: {best.train_fraction:g} (power "
            f"{number(best.power)}, Monte Carlo error {number(best.error, 3)}{also})."
        )
        if any(point.varied == "repetitions" and point.repetitions == 1 for point in self.points):
            out.append(
                "One repetition is tested at alpha and several at alpha / 2, but the verdict of one depends on the "
                "random order of the rows."
            )
        return out

    def _notes(self) -> list[str]:
        return [NOT_EVIDENCE, OTHER_ROWS] if self.learns else [NOT_EVIDENCE]

    def _side_by_side(self) -> str:
        """What either scheme needs, in one sentence."""
        forward, split = self.sample_sizes[:2]
        one, other = scheme_words(forward), scheme_words(split)
        if forward.rows is not None and split.rows is not None:
            text = f"{one} need {forward.rows / split.rows:.0%} of the rows that {other} needs"
        elif forward.rows is None and split.rows is None:
            text = f"neither {one} nor {other} would reach it"
        else:
            reached, not_reached = (one, other) if split.rows is None else (other, one)
            text = f"{reached} would reach it, and {not_reached} would not"
        return f"Side by side: {text}. Declare the scheme before the audit."

    def _size_words(self, size: SampleSize) -> str:
        start = f"To reach {number(self.wanted)} by {scheme_words(size)}:"
        if size.rows is None:
            return f"{start} more than {size.most_tried:,} rows, or no number of rows."
        low = f"{size.rows_low:,}" if size.rows_low else "fewer"
        high = f"{size.rows_high:,}" if size.rows_high else "more"
        text = f"{start} {size.rows:,} rows (Monte Carlo error: {low} to {high})"
        if not self.learns:
            return f"{text}."
        least = (
            f"more than {size.most_tried:,}, or never" if size.rows_at_low_end is None else f"{size.rows_at_low_end:,}"
        )
        return f"{text}; at the lower end of that range, {least}."

    def _tables(self) -> list[str]:
        """One small table per curve."""
        out = []
        for varied in dict.fromkeys(point.varied for point in self.points):
            several = [p for p in self.points if p.varied == varied]
            for how in dict.fromkeys(map(scheme_name, several)) if varied == "rows" else [None]:
                curve = [p for p in several if how in (None, scheme_name(p))]
                head = varied.replace("_", " ") + ("" if how is None else f", {how}")
                lines = {
                    head: [f"{x:,}" if isinstance(x, int) else f"{x:g}" for x in (getattr(p, varied) for p in curve)],
                    "  power": [number(p.power) for p in curve],
                    "  Monte Carlo error": [number(p.error, 3) for p in curve],
                }
                if curve[0].low is not None:
                    lines["  80% low"] = [number(p.low) for p in curve]
                    lines["  80% high"] = [number(p.high) for p in curve]
                width = max(6, *(len(text) for text in lines[head])) + 1
                out += [f"{name:<20}" + "".join(f"{cell:>{width}}" for cell in line) for name, line in lines.items()]
        return out


def scheme_name(one: PowerPoint | SampleSize) -> str:
    """Of a curve."""
    return "forward" if one.train_fraction is None else f"split at {100 * one.train_fraction:g}%"


def scheme_words(one: PowerPoint | SampleSize) -> str:
    """In a sentence."""
    fraction = one.train_fraction
    return "forward repetitions" if fraction is None else f"the paper's split with {100 * fraction:g}% for training"


def number(value: float | None, digits: int = 2) -> str:
    """A share as it is printed: .83.

    Examples
    --------
    >>> number(0.834), number(1.0), number(0.0004, 3)
    ('.83', '>.99', '<.001')
    """
    if value is None:
        return "-"
    least = 10**-digits
    if value < least:
        return f"<{least:.{digits}f}".replace("0.", ".", 1)
    if value > 1 - least:
        return f">{1 - least:.{digits}f}".replace("0.", ".", 1)
    return f"{value:.{digits}f}"[1:]

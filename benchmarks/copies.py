"""How often people who are alike are taken for copies, and how often copies are not found.

Answers on scales of five, incomes beside regions, columns that are functions of each other, events that are mostly
zero, experiments, products, neighborhoods, counts, prices; and, written after the last constant in
`improvable.data.duplicates` was chosen, hospital stays, grades, and answers that are missing together. A share of the
rows, drawn without replacement, is added again. Printed: the share of rows that repeat another without any copies, and
the share of samples that are refused, in percent, at 300, 1,000, 5,000 and 20,000 rows. `--first N` starts at another
seed.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from improvable.data.arrays import FloatArray
from improvable.data.duplicates import are_copies, exact_words, repeats_of
from improvable.data.frames import read_rows
from improvable.data.keys import Keying

SAMPLES = {300: 100, 1_000: 100, 5_000: 50, 20_000: 20}
"""Of each population: rows, and how many samples of so many rows."""
COPIED = (0.0, 0.02, 0.1, 1.0)
POPULATIONS: dict[str, Callable[[int, np.random.Generator], pl.DataFrame]] = {}


def population(make: Callable[[int, np.random.Generator], pl.DataFrame]) -> None:
    POPULATIONS[make.__name__.replace("_", " ")] = make


def _outcome(chance: NDArray[np.floating[Any]], rng: np.random.Generator) -> FloatArray:
    return (rng.random(len(chance)) < chance).astype(np.float64)


@population
def answers_on_scales(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Eight answers from 1 to 5 that hang together, an age band and a sex."""
    mood = rng.normal(size=rows)
    items = {f"q{j}": np.clip(np.round(3 + mood + 0.7 * rng.normal(size=rows)), 1, 5) for j in range(8)}
    chance = 1 / (1 + np.exp(-mood))
    return pl.DataFrame(items).with_columns(
        band=pl.Series(rng.integers(0, 6, rows)),
        sex=pl.Series(rng.integers(0, 2, rows)),
        y=pl.Series(_outcome(chance, rng)),
    )


@population
def incomes_and_regions(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Incomes in hundreds, fifty regions as text, three flags that depend on the income."""
    income = np.round(rng.lognormal(10.3, 0.5, rows), -2)
    poor = income < 25_000
    flags = {f"flag{j}": rng.random(rows) < np.where(poor, 0.3, 0.1) for j in range(3)}
    region = np.char.add("region ", np.minimum(rng.zipf(1.4, rows), 50).astype(str))
    return pl.DataFrame({"income": income, "region": region, **flags, "y": _outcome(0.2 + 0.3 * poor, rng)})


@population
def functions_of_each_other(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """An age, a year of birth, an age band; a height, a weight, a body mass index and its class."""
    age = rng.integers(18, 90, rows)
    height = np.round(rng.normal(168, 9, rows) / 5) * 5
    weight = np.round((height / 100) ** 2 * rng.normal(26, 4, rows) / 5) * 5
    mass = np.round(weight / (height / 100) ** 2, 1)
    return pl.DataFrame(
        {
            "age": age, "born": 2026 - age - rng.integers(0, 2, rows), "band": age // 10, "height": height,
            "weight": weight, "mass": mass, "obese": mass > 30, "y": _outcome(np.where(mass > 30, 0.4, 0.2), rng),
        }
    )  # fmt: skip


@population
def mostly_zeros(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Fifteen counts of rare events in few people, and their sum."""
    frail = np.where(rng.random(rows) < 0.3, rng.gamma(1, 1, rows), 0.0)
    counts = {f"events{j}": rng.poisson(frail * rng.uniform(0.05, 0.6)) for j in range(15)}
    total = np.sum(list(counts.values()), axis=0)
    return pl.DataFrame({**counts, "total": total, "y": _outcome(1 - 0.9 * np.exp(-0.2 * total), rng)})


@population
def fine_numbers(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Five numbers with all their digits."""
    x = rng.normal(size=(rows, 5))
    return pl.DataFrame({f"x{j}": x[:, j] for j in range(5)} | {"y": _outcome(1 / (1 + np.exp(-x[:, 0])), rng)})


@population
def an_experiment(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Four factors at three levels each: everyone has dozens of others who are just like them."""
    factors = {f"factor{j}": rng.integers(0, 3, rows) for j in range(4)}
    return pl.DataFrame({**factors, "y": _outcome(0.2 + 0.2 * (factors["factor0"] == 2), rng)})


@population
def products(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Two hundred products, each with a rate, a term and a fee, of which some are sold much; ages of the buyers."""
    catalog = np.random.default_rng(0)
    rate, term, fee = (
        catalog.uniform(2, 9, 200).round(2),
        catalog.integers(1, 31, 200),
        catalog.integers(0, 9, 200) * 50,
    )
    which = np.minimum(rng.zipf(1.3, rows), 200) - 1
    age = rng.integers(20, 75, rows)
    columns = {"product": which, "rate": rate[which], "term": term[which], "fee": fee[which], "age": age}
    return pl.DataFrame({**columns, "y": _outcome(0.05 + 0.03 * rate[which], rng)})


@population
def neighborhoods(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Three hundred places with a median income, a density and a distance; of people, two flags and a count."""
    places = np.random.default_rng(1)
    known = places.normal(size=(300, 3))
    place = rng.integers(0, 300, rows)
    columns = {f"place{j}": known[place, j] for j in range(3)}
    people = {"owner": rng.integers(0, 2, rows), "children": rng.poisson(0.8, rows), "car": rng.random(rows) < 0.8}
    return pl.DataFrame({**columns, **people, "y": _outcome(1 / (1 + np.exp(-known[place, 0])), rng)})


@population
def counts(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Five counts with a common cause."""
    cause = rng.gamma(2, 1, rows)
    return pl.DataFrame(
        {f"count{j}": rng.poisson(cause * (j + 1) / 2) for j in range(5)} | {"y": _outcome(1 - np.exp(-cause / 4), rng)}
    )


@population
def prices_in_steps(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Prices that end in .99, a discount that depends on them, a category as text, stars."""
    price = np.floor(rng.lognormal(3, 0.8, rows)) + 0.99
    discount = np.where(price > 30, rng.choice([0, 10, 20], rows), 0)
    kind = rng.choice(np.array(["food", "toys", "books", "tools", "garden"]), rows)
    stars = rng.choice([1, 2, 3, 4, 5], rows, p=[0.1, 0.05, 0.1, 0.25, 0.5])
    paid = np.round(price * (100 - discount) / 100, 2)
    return pl.DataFrame(
        {
            "price": price,
            "discount": discount,
            "paid": paid,
            "kind": kind,
            "stars": stars,
            "y": _outcome(stars / 10, rng),
        }
    )


@population
def hospital_stays(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Ages in fives, a diagnosis of eighty with its weight, nights, wards, and a charge that follows from them."""
    known = np.random.default_rng(2).uniform(0.5, 4, 80).round(1)
    code = np.minimum(rng.zipf(1.5, rows), 80) - 1
    nights = 1 + rng.poisson(known[code])
    charge = 900 * nights + 1_200 * known[code]
    columns = {"age": rng.integers(4, 18, rows) * 5, "code": code, "weight": known[code], "nights": nights}
    return pl.DataFrame(
        {**columns, "ward": rng.integers(0, 4, rows), "charge": charge, "y": _outcome(known[code] / 9, rng)}
    )


@population
def grades(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Ten grades from A to E of pupils who are good or bad at everything, their mean, and a school of forty."""
    ability = rng.normal(size=rows)
    marks = np.clip(np.round(2 + 1.2 * ability[:, None] + 0.5 * rng.normal(size=(rows, 10))), 0, 4).astype(int)
    columns = {f"subject{j}": np.array(list("EDCBA"))[marks[:, j]] for j in range(10)}
    school = rng.integers(0, 40, rows)
    return pl.DataFrame(
        {**columns, "mean": marks.mean(axis=1), "school": school, "y": _outcome(marks.mean(axis=1) / 5, rng)}
    )


@population
def half_of_the_answers_missing(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """A hand size in millimeters and four answers, all missing together for half of the people; sixty counties."""
    gone = rng.random(rows) < 0.5
    size = np.where(gone, np.nan, np.round(rng.normal(185, 12, rows)))
    answers = {f"q{j}": np.where(gone, np.nan, rng.integers(0, 3, rows)) for j in range(4)}
    return pl.DataFrame(
        {"size": size, **answers, "county": rng.integers(0, 60, rows), "y": _outcome(0.2 + 0.2 * gone, rng)}
    )


def refused(frame: pl.DataFrame) -> tuple[float, bool]:
    """The share of rows that repeat another, and whether an audit is refused."""
    rows = read_rows(frame)
    found = repeats_of(Keying(1).of(rows, frame.columns))
    return found.repeated, are_copies(found, lambda: exact_words(rows, frame.columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    first = parser.parse_args().first
    print("| people | alike by chance | no copies | 2% copied | 10% copied | all copied |")
    print("|---|---|---|---|---|---|")
    for name, make in POPULATIONS.items():
        shares = [measured(make, rows, samples, first) for rows, samples in SAMPLES.items()]
        cells = [" ".join(f"{100 * share:.0f}" for share in one) for one in zip(*shares, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def measured(
    make: Callable[[int, np.random.Generator], pl.DataFrame], rows: int, samples: int, first: int
) -> list[float]:
    """The mean share of rows that repeat another without copies, and the shares of samples that are refused."""
    alike, found = 0.0, np.zeros(len(COPIED))
    for seed in range(first, first + samples):
        rng = np.random.default_rng([seed, rows])
        frame = make(rows, rng)
        for k, share in enumerate(COPIED):
            again = frame[np.sort(rng.choice(rows, round(share * rows), replace=False))]
            repeated, copies = refused(pl.concat([frame, again]))
            found[k] += copies
            alike += 0.0 if share else repeated
    return [alike / samples, *(found / samples).tolist()]


if __name__ == "__main__":
    main()

"""Golden plans and monitors."""

from functools import partial
from typing import Any

import polars as pl

import improvable
from golden.audits import LOANS as AUDITED_LOANS
from golden.audits import VISITS as AUDITED_VISITS
from golden.audits import MakeSnapshot, make_test
from golden.room import Room
from golden.samples import loans, visits
from golden.snapshots import Snapshot, snapshot_monitoring, snapshot_plan
from improvable.studies.power import (
    AssumedGroup,
    power_from_assumptions,
    power_from_pilot,
)

# A plan takes what an audit takes, but for its tests.
LOANS = {name: value for name, value in AUDITED_LOANS.items() if name != "test"}
VISITS = {name: value for name, value in AUDITED_VISITS.items() if name != "test"}
SMALL: dict[str, Any] = {"simulations": 100, "fits": 4, "sizes": 3}
GROUPS = (
    AssumedGroup(
        "men", 0.6, rates=(0.3, 0.3), means=(3.0, 3.4), spread=1.5, overlap=0.5
    ),
    AssumedGroup(
        "women", 0.4, rates=(0.2, 0.25), means=(2.4, 3.2), spread=1.5, overlap=0.4
    ),
)
STUDIES: dict[str, MakeSnapshot] = {}


def plan_from_pilot(
    rows: pl.DataFrame, settings: dict[str, Any], room: Room
) -> Snapshot:
    return snapshot_plan(power_from_pilot(room.arrange(rows), **SMALL, **settings))


def plan_from_assumptions(settings: dict[str, Any], _: Room) -> Snapshot:
    return snapshot_plan(power_from_assumptions(GROUPS, simulations=100, **settings))


STUDIES["plan, loans"] = partial(plan_from_pilot, loans(), LOANS)
STUDIES["plan, loans, split"] = partial(
    plan_from_pilot, loans(), LOANS | {"scheme": "split", "train_fraction": 0.3}
)
STUDIES["plan, loans, more rows and a gain"] = partial(
    plan_from_pilot, loans(), LOANS | {"rows": 3_000, "delta_fairness": 0.2}
)
STUDIES["plan, visits"] = partial(plan_from_pilot, visits(), VISITS)
STUDIES["plan, assumptions"] = partial(plan_from_assumptions, {"rows": 4_000})
STUDIES["plan, assumptions, split"] = partial(
    plan_from_assumptions, {"rows": 4_000, "scheme": "split", "repetitions": 3}
)


def monitor_loans(rows: int, candidate: str, room: Room) -> Snapshot:
    """An audit of past loans, then bets on later ones in the order of their arrival."""
    settings = AUDITED_LOANS | {"test": make_test(repetitions=1)}
    audit = improvable.audit(room.arrange(loans()), n_jobs=room.workers, **settings)
    later = loans(rows, seed=31).with_columns(loan=pl.col("loan") + 100_000)
    return snapshot_monitoring(improvable.monitor(audit, later, candidate=candidate))


STUDIES["monitor, shown"] = partial(monitor_loans, 4_000, "instead")
STUDIES["monitor, not shown so far"] = partial(monitor_loans, 300, "instead")
STUDIES["monitor, the status quo itself"] = partial(monitor_loans, 600, "approved")

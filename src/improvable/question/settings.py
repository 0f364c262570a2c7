"""What an audit is asked, as one value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from improvable.question.claim import Delta, Overall
from improvable.question.utilities import Utility


@dataclass(frozen=True)
class Settings:
    """The arguments of `audit` that can change its result, as one value; see there."""

    outcome: str
    group: str | Sequence[str]
    status_quo: Any
    rule: Any = "forest"
    features: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    target: str | None = None
    accuracy: str | Utility | Sequence[str | Utility] = "calibration"
    fairness: str | Utility | Sequence[str | Utility] | None = None
    delta_accuracy: Delta = 0.0
    delta_fairness: float = 0.0
    form: str = "ratio"
    gap: str = "signed"
    protected: str | Sequence[str] | None = None
    overall: Overall = None
    groups: Sequence[str] | None = None
    cross: bool = False
    min_group: int = 0
    small: str = "refuse"
    weight: str | None = None
    cluster: str | None = None
    splits: int = 7
    combine: str = "median"
    tolerance: float = 0.01
    most_splits: int = 101
    train_fraction: float = 0.5
    draws: int = 10_000
    alpha: float = 0.05
    capacity: float | None = None
    monotone: Mapping[str, str | int] | None = None
    selection_gap: float | None = None
    group_blind: bool = True
    seed: int = 0
    challenge: str | None = None
    seal: str | None = None
    drop_missing: bool = False
    method: str | None = None
    engine: str | None = None
    train_rows: int | None = None
    row_id: str | None = None

"""A result as one dictionary of plain numbers and text: the JSON, and the source of every other output.

The types below are the JSON's; `docs/reference/result.schema.json` says what each key means.
"""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from improvable.inference.evidence import AlgorithmName
from improvable.results.firmness import RerunFacts, ShortfallFacts


class Pair(TypedDict):
    status_quo: float | None
    candidate: float | None


class CountPair(TypedDict):
    status_quo: int
    candidate: int


class UtilityFacts(TypedDict):
    name: str
    words: str
    outcome: str
    higher_is_better: bool
    worse_off: str
    sense: str
    between: str
    formula: str


class DisparityFacts(TypedDict):
    utility: str
    group: str
    higher: str
    lower: str
    gap: float
    interval: list[float | None]
    worse_off: str
    better_off: str


class ComponentFacts(TypedDict):
    kind: str
    utility: str
    group: str
    status_quo: float | None
    candidate: float | None
    p_value: float
    p_other: float | None


class IntervalFacts(TypedDict):
    measure: str
    group: str
    quantity: str
    estimate: float | None
    low: float | None
    high: float | None


class ChangeFacts(TypedDict):
    share: float
    mean_outcome: float | None


class RepetitionFacts(TypedDict):
    repetition: int
    rows: int
    clusters: int | None
    method: str
    p_value: float
    p_value_text: str
    p_accuracy: dict[str, float]
    p_fairness: float | None
    p_fairness_other: float | None
    accuracy: dict[str, Pair]
    fairness: dict[str, Pair]
    gap: Pair
    components: list[ComponentFacts]
    intervals: list[IntervalFacts]
    reference: list[str]
    selected: dict[str, CountPair]
    share_selected: dict[str, dict[str, float]]
    share_selected_by_group: dict[str, dict[str, float]]
    effective_rows: dict[str, dict[str, float]]
    differing_rows: dict[str, dict[str, float]]
    corrections: list[dict[str, str]]
    p_plain: float | None
    changes: dict[str, dict[str, ChangeFacts]]
    undefined_draws: int
    selection: dict[str, Any]


class EigenvalueFacts(TypedDict):
    repetition: int
    covariance: float
    correlation: float


class CandidateGapFacts(TypedDict):
    repetition: int
    utility: str
    group: str
    higher: str
    lower: str
    gap: float | None
    standard_errors: float | None
    near_zero: bool


class WelfareFacts(TypedDict):
    criterion: str
    utility: str
    status_quo: float | None
    candidate: float | None


class SelectionRateFacts(TypedDict):
    attribute: str
    group: str
    rows: int
    selected: int
    rate: float
    ratio: float | None
    below_four_fifths: bool
    best_off: bool
    standard_deviations: float


class DiagnosticFacts(TypedDict):
    eigenvalues: list[EigenvalueFacts]
    candidate_gaps: list[CandidateGapFacts]
    welfare: list[WelfareFacts]
    selection_rates: list[SelectionRateFacts]


class Facts(TypedDict):
    """Everything a result says. What only an audit says is not required."""

    kind: str
    p_value: float
    p_value_text: str
    threshold: float
    reject: bool
    alpha: float
    groups: list[str]
    about: dict[str, Any]
    outcome: str
    lower_is_better: bool
    outcome_range: list[float] | None
    selection: str
    group: list[str]
    accuracy_utilities: list[UtilityFacts]
    fairness_utilities: list[UtilityFacts]
    ask: str
    delta_accuracy: float | dict[str, float | dict[str, float]]
    no_worse: float | None
    delta_fairness: float | dict[str, float]
    form: str
    gap_statistic: str
    protected: list[str]
    overall: str | dict[str, float] | None
    weight: str | None
    cluster: str | None
    stratum: str | None
    draws: int
    method: str
    seed: int
    version: str
    rows: int
    clusters: int | None
    data_fingerprint: str | None
    seal: str | None
    disparity: DisparityFacts
    disparities: list[DisparityFacts]
    repetitions: list[RepetitionFacts]
    rerun: RerunFacts | None
    shortfall: ShortfallFacts | None
    diagnostics: DiagnosticFacts
    warnings: list[str]
    verdict_warnings: list[str]
    status_quo: NotRequired[str]
    rule: NotRequired[str]
    features: NotRequired[dict[str, str]]
    look: NotRequired[dict[str, Any]]
    target: NotRequired[str]
    capacity: NotRequired[float | str | None]
    ties: NotRequired[str]
    direction: NotRequired[str | None]
    monotone: NotRequired[dict[str, str]]
    selection_gap: NotRequired[float | None]
    group_blind: NotRequired[bool]
    scheme: NotRequired[str]
    blocks: NotRequired[dict[str, Any]]
    train_fraction: NotRequired[float | None]
    train_rows: NotRequired[int]
    row_id: NotRequired[str | None]
    rule_source: NotRequired[str | None]
    challenge_source: NotRequired[str | None]
    challenge: NotRequired[str | None]
    asked_again: NotRequired[bool]
    protocol: NotRequired[dict[str, Any] | None]
    versions: NotRequired[dict[str, str]]


def by_component(facts: Facts) -> list[tuple[ComponentFacts, ...]]:
    """Every condition of the test with its numbers in every repetition: the one walk over a result's components."""
    return list(zip(*(repetition["components"] for repetition in facts["repetitions"]), strict=True))


def mean_of(component: Sequence[ComponentFacts], algorithm: AlgorithmName) -> float | None:
    """A component's mean over the repetitions; None where some repetition leaves it undefined."""
    values = [repetition[algorithm] for repetition in component]
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if len(defined) == len(values) else None

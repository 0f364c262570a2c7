"""The types of a result as plain data: the JSON, and the source of every other output.

`docs/generate/schema.py` makes the JSON's schema from these types;
`docs/reference/result_words.toml` says what each key means. `Annotated` adds the
strings to choose from, the limits of a number, or the fewest and most items of a list.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NotRequired, TypedDict, get_type_hints

from improvable.question.options import conforms

Probability = Annotated[float, (0, 1)]
Kind = Annotated[str, ("accuracy", "fairness")]
PEOPLE = 1_000
"""Out of how many people of a group it is said who changes."""
Range = Annotated[list[Probability], (2, 2)]


class Pair(TypedDict):
    status_quo: float | None
    candidate: float | None


class CountPair(TypedDict):
    status_quo: int
    candidate: int


class PersonFacts(TypedDict):
    people: float
    mean_outcome: float | None


class UtilityFacts(TypedDict):
    name: str
    words: str
    outcome: str
    higher_is_better: bool
    worse_off: Annotated[str, ("lower", "higher")]
    sense: str
    between: Annotated[str, ("difference", "ratio")]
    formula: str


class DisparityFacts(TypedDict):
    utility: str
    group: str
    higher: str
    lower: str
    gap: float
    interval: Annotated[list[float | None], (2, 2)]
    worse_off: str
    better_off: str


class SpreadFacts(TypedDict):
    estimate: float | None
    low: float | None
    high: float | None


class EstimateFacts(TypedDict):
    kind: Annotated[str, ("utility", "difference", "gap")]
    utility: str
    group: str
    status_quo: SpreadFacts
    candidate: SpreadFacts


class BoundFacts(TypedDict):
    what: str
    value: float | None
    size: str
    words: str


class ComponentFacts(Pair):
    kind: Kind
    utility: str
    group: str
    p_value: Probability
    p_other: Probability | None


class IntervalFacts(SpreadFacts):
    measure: str
    group: str
    quantity: Annotated[str, ("status_quo", "candidate", "ratio", "difference")]


class ChangeFacts(TypedDict):
    share: float
    mean_outcome: float | None


class TurnedFacts(TypedDict):
    right: float
    wrong: float
    not_more_right: list[str]


class AimNotes(TypedDict):
    """What the rule `aim` notes of a block; a rule of one's own may call another note
    so.
    """

    weights: dict[str, float]
    promised: dict[str, float | None]


class AimFacts(TypedDict):
    kind: Annotated[str, ("accuracy", "fairness", "prediction")]
    group: str
    weight: Probability
    promised: float | None
    tested: float | None


class DifferingFacts(TypedDict):
    rows: float
    status_quo: float
    candidate: float
    effective: float


class CorrectionFacts(TypedDict):
    why: Annotated[str, ("two values", "long tail", "margin", "weights", "clusters")]
    utility: str
    group: str


class TippingFacts(TypedDict):
    gamma: Annotated[float, (1, None)]
    p_value: Probability


class BenchmarkFacts(TypedDict):
    what: str
    factor: Annotated[float, (1, None)]


class DeltaFacts(TypedDict):
    delta: Annotated[float, (0, None)]
    p_value: Probability


class UnknownFacts(TypedDict):
    selected: dict[str, float | None]
    without_overlap: Probability | None
    benchmark: float | None
    curve: list[DeltaFacts]
    last_delta: float | None


class CountFacts(TypedDict):
    """What a repetition counts: computed once, by `procedure/evaluate`, and stored,
    loaded and stated as it is.

    A new count is one key here.
    """

    rows: int
    clusters: int | None
    selected: dict[str, CountPair]
    share_selected: dict[str, dict[str, float]]
    share_selected_by_group: dict[str, dict[str, float]]
    effective_rows: dict[str, dict[str, float]]
    differing_rows: dict[str, DifferingFacts]
    tipping: list[TippingFacts]
    group_odds: float | None
    corrections: list[CorrectionFacts]
    p_plain: Probability | None
    binary: bool
    changes: dict[str, dict[str, ChangeFacts]]


class RepetitionFacts(CountFacts):
    repetition: int
    method: str
    p_value: Probability
    p_value_text: str
    p_accuracy: dict[str, Probability]
    p_fairness: Probability | None
    p_fairness_other: Probability | None
    accuracy: dict[str, Pair]
    fairness: dict[str, Pair]
    gap: Pair
    components: list[ComponentFacts]
    intervals: list[IntervalFacts]
    reference: Annotated[list[str], (2, 2)]
    undefined_draws: int
    aim: list[AimFacts]
    rule_notes: dict[str, Any]


class RerunFacts(TypedDict):
    otherwise: Probability
    otherwise_range: Range
    share: Probability
    share_range: Range
    repetitions: int
    rejecting: int


class ShortfallFacts(TypedDict):
    repetition: int
    kind: Kind
    utility: str
    group: str
    candidate: float | None
    needed: float | None
    above: bool
    standard_errors: float | None
    rows: int | None
    detectable: float | None


class CandidateGapFacts(TypedDict):
    repetition: int
    utility: str
    group: str
    higher: str
    lower: str
    gap: float | None
    standard_errors: float | None
    near_zero: bool


class SelectionRateFacts(TypedDict):
    attribute: str
    group: str
    rows: int
    selected: int
    rate: Probability
    ratio: float | None
    below_four_fifths: bool
    best_off: bool
    standard_deviations: float


class DiagnosticsFacts(TypedDict):
    candidate_gaps: list[CandidateGapFacts]
    selection_rates: list[SelectionRateFacts]


class LookRows(TypedDict):
    total: int
    used: int
    looked_at: int


class LookRoles(TypedDict):
    outcome: list[str]
    group: list[str]
    target: str
    weight: str | None
    cluster: str | None
    row_id: str | None


class LookOutcome(TypedDict):
    column: str
    values: int
    mean: float
    least: float
    most: float


class LookGroup(TypedDict):
    attribute: str
    group: str
    rows: int
    mean_outcome: float | None
    selected: float | None
    mean_outcome_selected: float | None


class LookDirection(TypedDict):
    selected: float
    others: float
    standard_errors: float


class LookFeature(TypedDict):
    treatment: str
    missing: int
    tells_outcome: dict[str, float | None]
    tells_group: dict[str, float | None]
    group_odds: float | None


class LookFacts(TypedDict):
    rows: LookRows
    roles: LookRoles
    outcomes: list[LookOutcome]
    groups: list[LookGroup]
    direction: LookDirection | None
    features: dict[str, LookFeature]
    left_out: dict[str, str]
    features_tell_group: dict[str, float | None]


class AboutFacts(TypedDict, total=False):
    organization: str
    system: str
    author: str
    date: str
    labels: dict[str, str]
    simulated: bool


class BlockFacts(TypedDict):
    cuts: Annotated[list[float], (1, None)]
    grown_for: str | None


class ProtocolFacts(TypedDict):
    digest: str
    declared: dict[str, dict[str, Any]]


class Facts(TypedDict):
    """Everything a result says. What only an audit says is not required."""

    kind: Annotated[str, ("audit", "comparison")]
    p_value: Probability
    p_value_text: str
    threshold: Probability
    reject: bool
    alpha: Probability
    groups: list[str]
    about: AboutFacts
    outcome: str
    lower_is_better: bool
    outcome_range: Annotated[list[float], (2, 2)] | None
    selection: Annotated[str, ("benefit", "burden")]
    group: list[str]
    assume: Annotated[
        str | None, ("between", "group only", "probabilities only", "known", None)
    ]
    unknown_outcomes: float | None
    accuracy_utilities: list[UtilityFacts]
    fairness_utilities: list[UtilityFacts]
    ask: Annotated[str, ("both", "accuracy", "fairness")]
    delta_accuracy: float | dict[str, float]
    delta_fairness: float
    form: Annotated[str, ("ratio", "difference")]
    gap_statistic: Annotated[str, ("signed", "absolute")]
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
    estimates: list[EstimateFacts]
    bounds: list[BoundFacts]
    at_most: Annotated[list[BoundFacts], (1, None)]
    selected_shares: dict[str, dict[str, float]] | None
    people: dict[str, dict[str, PersonFacts]]
    turned: TurnedFacts | None
    p_plain: Probability | None
    tipping_curve: list[TippingFacts]
    tipping_point: float | None
    tipping_benchmark: BenchmarkFacts | None
    unknown: UnknownFacts | None
    repetitions: Annotated[list[RepetitionFacts], (1, None)]
    rerun: RerunFacts | None
    shortfall: ShortfallFacts | None
    diagnostics: DiagnosticsFacts
    warnings: list[str]
    verdict_warnings: list[str]
    caution_kinds: list[str]
    status_quo: NotRequired[str]
    rule: NotRequired[str]
    features: NotRequired[dict[str, str]]
    look: NotRequired[LookFacts]
    target: NotRequired[str]
    capacity: NotRequired[float | str | None]
    ties: NotRequired[Annotated[str, ("random", "strict")]]
    direction: NotRequired[Annotated[str | None, ("as stated", None)]]
    monotone: NotRequired[dict[str, Annotated[str, ("+", "-")]]]
    selection_gap: NotRequired[float | None]
    group_blind: NotRequired[bool]
    max_unknown: NotRequired[float | None]
    scheme: NotRequired[Annotated[str, ("forward", "split")]]
    blocks: NotRequired[BlockFacts]
    train_fraction: NotRequired[float | None]
    train_rows: NotRequired[int]
    row_id: NotRequired[str | None]
    rule_source: NotRequired[str | None]
    challenge_source: NotRequired[str | None]
    challenge: NotRequired[str | None]
    asked_again: NotRequired[bool]
    protocol: NotRequired[ProtocolFacts | None]
    versions: NotRequired[dict[str, str]]


def wrong_types(facts: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Of these keys of somebody's result, those that are required and missing, or not
    of the type they have here.
    """
    hints, required = get_type_hints(Facts), Facts.__required_keys__
    return [
        key
        for key in keys
        if (key in facts or key in required)
        and not conforms(facts.get(key), hints[key])
    ]


def by_component(facts: Facts) -> list[tuple[ComponentFacts, ...]]:
    """Every condition of the test with its numbers in every repetition: the one walk
    over a result's components.
    """
    return list(
        zip(
            *(repetition["components"] for repetition in facts["repetitions"]),
            strict=True,
        )
    )


def deciding(facts: Facts) -> RepetitionFacts:
    """The repetition whose p-value is the combined one."""
    return next(
        one for one in facts["repetitions"] if one["p_value"] == facts["p_value"]
    )


def estimate_of(facts: Facts, component: ComponentFacts) -> EstimateFacts:
    """A condition's utility or gap over all repetitions: its mean under either
    algorithm, with intervals.
    """
    kind = "utility" if component["kind"] == "accuracy" else "gap"
    wanted = kind, component["utility"], component["group"]
    return next(
        one
        for one in facts["estimates"]
        if (one["kind"], one["utility"], one["group"]) == wanted
    )

"""What an audit's result remembers of how it was made: plain data, for reports, the ledger and verification."""

from dataclasses import asdict
from typing import Any

from improvable.algorithms.deciding import describe
from improvable.data.sample import Sample
from improvable.procedure.steps import Plan
from improvable.question.declaration import declare, digest_of
from improvable.question.settings import Settings
from improvable.results.versions import versions


def origin_facts(settings: Settings, data_fingerprint: str | None) -> dict[str, Any]:
    """Where an audit comes from: data, seal, protocol, versions. Plain data."""
    declared = declare(settings)
    return {
        "data_fingerprint": data_fingerprint,
        "challenge": settings.challenge,
        "seal": settings.seal,
        "protocol": None if declared is None else {"digest": digest_of(declared), "declared": declared},
        "versions": versions(),
    }


def plan_facts(plan: Plan, sample: Sample) -> dict[str, Any]:
    """How candidates are found, as plain data."""
    return {
        "status_quo": describe(plan.status_quo),
        "rule": plan.rule.name,
        "features": plan.features.treatment,
        "target": plan.target,
        **plan.constraints.facts(),
        "train_fraction": plan.train_fraction,
        "stopping": None if plan.stopping is None else asdict(plan.stopping),
        "rows": len(sample),
        "clusters": None if sample.clusters is None else sample.units,
    }

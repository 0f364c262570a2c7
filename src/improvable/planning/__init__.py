"""Power and sample size: how likely the procedure is to find an improvement that is there."""

from improvable.planning.assumptions import AssumedGroup
from improvable.planning.plan import PowerPlan, PowerPoint, SampleSize
from improvable.planning.power import Tried, power_from_assumptions, power_from_pilot

__all__ = [
    "AssumedGroup",
    "PowerPlan",
    "PowerPoint",
    "SampleSize",
    "Tried",
    "power_from_assumptions",
    "power_from_pilot",
]

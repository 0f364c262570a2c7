"""Power and sample size: how likely the procedure is to find an improvement that is
there.
"""

from improvable.studies.power.assumptions import AssumedGroup
from improvable.studies.power.plan import (
    PowerPlan,
    power_from_assumptions,
    power_from_pilot,
)
from improvable.studies.power.simulate import PowerPoint, SampleSize

__all__ = [
    "AssumedGroup",
    "PowerPlan",
    "PowerPoint",
    "SampleSize",
    "power_from_assumptions",
    "power_from_pilot",
]

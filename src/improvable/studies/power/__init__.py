"""Power and sample size: how likely the procedure is to find an improvement that is there."""

from improvable.studies.power.assumptions import AssumedGroup
from improvable.studies.power.curves import Tried
from improvable.studies.power.from_run import GapPower, power_from_run
from improvable.studies.power.gap_process import GapProcess
from improvable.studies.power.learning import Learning, LearningPoint, LearningStep
from improvable.studies.power.plan import PowerPlan, PowerPoint, SampleSize
from improvable.studies.power.power import power_from_assumptions, power_from_pilot

__all__ = [
    "AssumedGroup",
    "GapPower",
    "GapProcess",
    "Learning",
    "LearningPoint",
    "LearningStep",
    "PowerPlan",
    "PowerPoint",
    "SampleSize",
    "Tried",
    "power_from_assumptions",
    "power_from_pilot",
    "power_from_run",
]

"""Pictures, one file each: every function returns an Altair chart, and `save_chart` writes one to a file."""

from improvable.plots.files import Chart, chart_svg, save_chart
from improvable.plots.intervals import intervals
from improvable.plots.mean_utilities import mean_utilities
from improvable.plots.p_values import p_values
from improvable.plots.power import power_curves
from improvable.plots.repetitions import repetitions
from improvable.plots.surface import default_grids, intercepts, surface
from improvable.plots.utilities import utilities

__all__ = [
    "Chart",
    "chart_svg",
    "default_grids",
    "intercepts",
    "intervals",
    "mean_utilities",
    "p_values",
    "power_curves",
    "repetitions",
    "save_chart",
    "surface",
    "utilities",
]

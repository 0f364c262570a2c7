"""Pictures, one file each: every function returns an Altair chart, and `save_chart` writes one to a file."""

from improvable.plots.files import chart_svg, save_chart
from improvable.plots.intervals import intervals
from improvable.plots.p_values import component_name, p_values
from improvable.plots.surface import default_grids, intercepts, surface
from improvable.plots.utilities import utilities

__all__ = [
    "chart_svg",
    "component_name",
    "default_grids",
    "intercepts",
    "intervals",
    "p_values",
    "save_chart",
    "surface",
    "utilities",
]

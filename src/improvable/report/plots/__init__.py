"""Pictures, one file each: every function returns an Altair chart, and `save_chart` writes one to a file."""

from improvable.report.plots.attempts import attempts
from improvable.report.plots.dumbbells import dumbbells
from improvable.report.plots.files import Chart, chart_png, chart_svg, save_chart
from improvable.report.plots.improvement_map import improvement_map
from improvable.report.plots.p_values import p_values
from improvable.report.plots.people import people
from improvable.report.plots.power import learning_curves, power_curves
from improvable.report.plots.surface import default_grids, intercepts, surface
from improvable.report.plots.utilities import utilities

__all__ = [
    "Chart",
    "attempts",
    "chart_png",
    "chart_svg",
    "default_grids",
    "dumbbells",
    "improvement_map",
    "intercepts",
    "learning_curves",
    "p_values",
    "people",
    "power_curves",
    "save_chart",
    "surface",
    "utilities",
]

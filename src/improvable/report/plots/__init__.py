"""Pictures. A new one is a file with a function that `Plot` decorates, and one line in
`REPORTED`.
"""

from collections.abc import Callable
from typing import Any

from improvable.report.plots.curves import (
    attempts,
    power_curves,
    wealth,
)
from improvable.report.plots.findings import (
    dumbbells,
    p_values,
    people,
    right_and_wrong,
    utilities,
)
from improvable.report.plots.style import Chart, Plot, chart_png, chart_svg, save_chart
from improvable.report.plots.surface import (
    default_grids,
    improvement_map,
    intercepts,
    surface,
)
from improvable.report.plots.tipping import tipping, unknown

REPORTED: dict[str, Plot] = {
    "dumbbells": dumbbells,
    "people": people,
    "right_and_wrong": right_and_wrong,
    "map": improvement_map,
    "p_values": p_values,
    "tipping": tipping,
    "unknown": unknown,
}
"""Pictures of a report, in its order."""
PICTURES: dict[str, Callable[..., Any]] = {
    **REPORTED,
    "utilities": utilities,
    "surface": surface,
}
"""Every picture of a result, by the name that `Result.plot` takes: a report's, and the
paper's Figures 2 and 3.
"""

__all__ = [
    "Chart",
    "attempts",
    "chart_png",
    "chart_svg",
    "default_grids",
    "dumbbells",
    "improvement_map",
    "intercepts",
    "p_values",
    "people",
    "power_curves",
    "right_and_wrong",
    "save_chart",
    "surface",
    "tipping",
    "unknown",
    "utilities",
    "wealth",
]

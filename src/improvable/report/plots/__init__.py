"""Pictures. A new one is a file with a function that `Plot` decorates, and one line in
`PICTURES`.
"""

from improvable.report.plots.curves import (
    attempts,
    power_curves,
    wealth,
)
from improvable.report.plots.findings import (
    dumbbells,
    p_values,
    people,
)
from improvable.report.plots.map import improvement_map
from improvable.report.plots.style import Chart, Plot
from improvable.report.plots.tipping import tipping, unknown

PICTURES: dict[str, Plot] = {
    "dumbbells": dumbbells,
    "people": people,
    "map": improvement_map,
    "p_values": p_values,
    "tipping": tipping,
    "unknown": unknown,
}
"""Every picture of a result, by the name that `Result.plot` takes; in the order of
reports.
"""

__all__ = [
    "Chart",
    "attempts",
    "dumbbells",
    "improvement_map",
    "p_values",
    "people",
    "power_curves",
    "tipping",
    "unknown",
    "wealth",
]

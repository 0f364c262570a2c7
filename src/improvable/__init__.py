"""Can this algorithm be made fairer without making it less accurate?

`audit` tests a status quo against the candidates that a selection rule finds; `compare`
tests one candidate.
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

__version__ = _version("improvable")

from improvable import datasets
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.rules import Selection, SelectionRule, Training
from improvable.algorithms.serialize import export_algorithm, import_algorithm
from improvable.algorithms.thresholds import threshold
from improvable.errors import (
    AlgorithmError,
    DataError,
    ImprovableError,
    ImprovableWarning,
    OptionError,
    RuleError,
    StorageError,
    UnknownColumnError,
)
from improvable.procedure.api import audit, compare
from improvable.procedure.monitor import monitor
from improvable.question.catalog import UTILITIES
from improvable.question.claim import Claim
from improvable.question.settings import About, Constraints, Groups, Read, Test
from improvable.question.utility import Utility
from improvable.results.audit import Audit, load
from improvable.results.comparison import Comparison

if TYPE_CHECKING:
    from improvable.report import plots
    from improvable.studies import power
    from improvable.trust.verification import verify

_LATER = {
    "plots": ("report.plots", ""),
    "power": ("studies.power", ""),
    "verify": ("trust.verification", "verify"),
}

__all__ = [
    "UTILITIES",
    "About",
    "Algorithm",
    "AlgorithmError",
    "Audit",
    "Claim",
    "Comparison",
    "Constraints",
    "DataError",
    "Groups",
    "ImprovableError",
    "ImprovableWarning",
    "OptionError",
    "Read",
    "RuleError",
    "Selection",
    "SelectionRule",
    "StorageError",
    "Test",
    "Training",
    "UnknownColumnError",
    "Utility",
    "__version__",
    "audit",
    "compare",
    "datasets",
    "export_algorithm",
    "import_algorithm",
    "load",
    "monitor",
    "plots",
    "power",
    "threshold",
    "verify",
]


def __getattr__(name: str) -> Any:
    """`power`, `plots` and `verify`, which are imported when they are first asked
    for.
    """
    if name not in _LATER:
        raise AttributeError(f"module 'improvable' has no attribute {name!r}")
    module, attribute = _LATER[name]
    found = import_module(f"improvable.{module}")
    return globals().setdefault(name, getattr(found, attribute) if attribute else found)


def __dir__() -> list[str]:
    """What tab completion offers: public names, not the packages behind them."""
    return __all__

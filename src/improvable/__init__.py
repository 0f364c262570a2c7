"""Can this algorithm be made fairer without making it less accurate?

`audit` tests a status quo against the candidates that a selection rule finds; `compare` tests one candidate.
"""

from importlib.metadata import version as _version

__version__ = _version("improvable")

from improvable import datasets
from improvable.algorithms import Algorithm, threshold
from improvable.audit import audit
from improvable.audit_result import Audit
from improvable.compare import compare
from improvable.comparison import Comparison
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
from improvable.export import export_algorithm, import_algorithm
from improvable.rules import Selection, SelectionRule, Training
from improvable.storage import load
from improvable.utilities import UTILITIES, Utility

__all__ = [
    "UTILITIES",
    "Algorithm",
    "AlgorithmError",
    "Audit",
    "Comparison",
    "DataError",
    "ImprovableError",
    "ImprovableWarning",
    "OptionError",
    "RuleError",
    "Selection",
    "SelectionRule",
    "StorageError",
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
    "threshold",
]

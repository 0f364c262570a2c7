"""Can this algorithm be made fairer without making it less accurate?

`audit` tests a status quo against the candidates that a selection rule finds; `compare` tests one candidate.
"""

from importlib.metadata import version as _version

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
from improvable.question.catalog import UTILITIES
from improvable.question.claim import Claim
from improvable.question.settings import Groups, Read, Test
from improvable.question.utility import Utility
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.load import load

__all__ = [
    "UTILITIES",
    "Algorithm",
    "AlgorithmError",
    "Audit",
    "Claim",
    "Comparison",
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
    "threshold",
]

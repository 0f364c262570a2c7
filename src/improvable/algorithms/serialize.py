"""Algorithms in files: written and read with skops, never with pickle (extra
``export``).

A pickle can run any code when it is read. A skops file names the types of its parts,
and `import_algorithm` makes only those of a fixed list: what this package's own rules
need, and what skops itself trusts. Decision trees are trusted after a look at their
nodes, because scikit-learn follows a tree's indices without checking them.
"""

import importlib
import importlib.metadata
import io
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MethodType
from typing import Any, cast

import numpy as np

from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.models import RowFunction
from improvable.algorithms.thresholds import Threshold
from improvable.data.io.safe import (
    MAX_ARRAYS,
    ReceivedError,
    inflates,
    read_bytes,
    write_whole,
)
from improvable.errors import ImprovableWarning, StorageError, one_line, require_extra

FORMAT = 1
FUNCTION = "improvable.algorithms.models.RowFunction"
SUPPORTED = (
    "Export columns of decisions or scores, and fitted models of this package or of "
    "scikit-learn."
)
# libraries whose version may change what a fitted model does
VERSIONED = ("scikit-learn", "skrub")

TRUSTED = frozenset(
    f"{module}.{name}"
    for module, names in {
        "improvable.algorithms.thresholds": "ScoreColumn ThresholdedScore TieBreaking",
        "improvable.algorithms.decisions": "DecisionColumn Mixture",
        "improvable.algorithms.models": "Encoder FittedModel LinearClassifier",
        "improvable.algorithms.rules.aim": "AimedScore",
        "improvable.algorithms.rules.lasso": "BoundedLinearRegression FoldedLasso",
        "improvable.algorithms.rules.variations": "BlendedScore",
        "improvable.algorithms.unseen": "BothSelect LoweredScore",
        "polars.datatypes.classes": "Date Datetime",
        "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
        "sklearn.tree._tree": "Tree",
        "sklearn.utils._bunch": "Bunch",
        "skrub._apply_to_each_col": "ApplyToEachCol",
        "skrub._check_input": "CheckInputDataFrame",
        "skrub._clean_categories": "CleanCategories",
        "skrub._clean_null_strings": "CleanNullStrings",
        "skrub._dataframe._common": "is_any_date is_categorical is_numeric",
        "skrub._datetime_encoder": "DatetimeEncoder",
        "skrub._drop_uninformative": "DropUninformative",
        "skrub._duration_to_float": "DurationToFloat",
        "skrub._string_encoder": "StringEncoder",
        "skrub._table_vectorizer": (
            "PassThrough ShortReprDict TableVectorizer _created_by_predicate"
        ),
        "skrub._to_datetime": "ToDatetime",
        "skrub._to_float": "ToFloat",
        "skrub._to_str": "ToStr",
        "skrub.selectors._base": "All And Cols Filter Sub",
        "skrub.selectors._selectors": "_cardinality_below",
    }.items()
    for name in names.split()
)
"""Types, and functions of skrub, that are made on reading beyond those that skops
trusts. Names, not whole packages: a package has functions that would do harm if a file
could name them."""


def export_algorithm(algorithm: Algorithm, path: str | Path) -> None:
    """Write an algorithm to a file that `import_algorithm` reads.

    Parameters
    ----------
    algorithm : Algorithm
        A complete one, such as `Audit.refit` gives. A function of the rows is code, and
        cannot be exported.
    path : str or path
        Usually ends in ``.skops``. The file is written whole or not at all.

    Raises
    ------
    StorageError
        A part of the algorithm could not be read back; the message names its type.
    """
    skops = _skops()
    own: Any = algorithm
    if isinstance(algorithm, Threshold):
        raise StorageError(
            "this threshold has a capacity and no cutoff yet.",
            "Export what refit() of an audit gives.",
        )
    method = algorithm.function if isinstance(algorithm, RowFunction) else None
    if isinstance(method, MethodType) and method.__name__ == "decide":
        # an object with `decide` that became a function of the rows is itself again
        own = method.__self__
    versions = {name: importlib.metadata.version(name) for name in VERSIONED}
    contents = {"format": FORMAT, "versions": versions, "algorithm": own}
    try:
        data = skops.dumps(contents, compression=zipfile.ZIP_DEFLATED)
        untrusted = _untrusted(skops, data)
        again = None if untrusted else skops.loads(data, trusted=sorted(TRUSTED))
    except Exception as error:
        raise StorageError(
            f"the algorithm cannot be exported: {one_line(error)}.", SUPPORTED
        ) from error
    if FUNCTION in untrusted:
        raise StorageError(
            "a function of the rows is code, and cannot be exported.", SUPPORTED
        )
    if untrusted:
        raise StorageError(
            f"the algorithm has parts that cannot be exported: {', '.join(untrusted)}.",
            SUPPORTED,
        )
    _check_trees(again, None, set())
    write_whole(Path(path), data)


def import_algorithm(path: str | Path) -> Algorithm:
    """Read an algorithm that `export_algorithm` wrote; it decides exactly as the one
    that was written.

    Raises
    ------
    StorageError
        The file is damaged, was not written by us, or names a type that is not trusted.
        None of it has run.
    """
    skops = _skops()
    try:
        data = read_bytes(Path(path), MAX_ARRAYS)
    except OSError as error:
        raise StorageError(
            f"cannot read '{path}': {error.strerror}.", "Check the path."
        ) from error
    except ReceivedError as error:
        raise StorageError(
            f"'{path}' {error}.", "Export the algorithm again."
        ) from error
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if inflates(archive, len(data)):
                raise ReceivedError
        untrusted = _untrusted(skops, data)
    except Exception as error:
        raise StorageError(
            f"'{path}' is damaged or not a skops file.", "Export the algorithm again."
        ) from error
    if untrusted:
        what = f"'{path}' names a type that is not trusted: {', '.join(untrusted)}."
        raise StorageError(what, "Read only files that export_algorithm wrote.")
    try:
        contents = skops.loads(data, trusted=sorted(TRUSTED))
    except Exception as error:
        raise StorageError(
            f"'{path}' cannot be read: {one_line(error)}.",
            "Export the algorithm again.",
        ) from error
    if not isinstance(contents, Mapping) or contents.get("format") != FORMAT:
        raise StorageError(
            f"'{path}' is not an exported algorithm.",
            f"This version reads format {FORMAT}.",
        )
    versions = contents.get("versions")
    for name in VERSIONED:
        here, there = (
            importlib.metadata.version(name),
            versions.get(name) if isinstance(versions, Mapping) else None,
        )
        if here != there:
            text = (
                f"'{path}' was written with {name} {there}; this is {here}, which may "
                "decide otherwise."
            )
            warnings.warn(text, ImprovableWarning, stacklevel=2)
    _check_trees(contents, None, set())
    algorithm: Any = contents.get("algorithm")
    if not hasattr(algorithm, "decide"):
        raise StorageError(
            f"'{path}' holds nothing that decides.", "Export the algorithm again."
        )
    return cast(Algorithm, algorithm)


def _skops() -> Any:
    require_extra("exporting and importing algorithms", "skops", "export")
    return importlib.import_module("skops.io")


def _untrusted(skops: Any, data: bytes) -> list[str]:
    return [
        name for name in skops.get_untrusted_types(data=data) if name not in TRUSTED
    ]


def _check_trees(part: Any, width: int | None, seen: set[int]) -> None:
    """Refuse trees whose nodes point outside of the tree or of the features.

    `width` is how many features an ensemble, which checks its rows once, gives to this
    member of it.
    """
    if id(part) in seen or isinstance(part, str | bytes | int | float | type):
        return
    seen.add(id(part))
    if isinstance(part, Mapping | list | tuple | set | np.ndarray):
        inside: Any = part.values() if isinstance(part, Mapping) else part
        if isinstance(part, np.ndarray):
            inside = part.flat if part.dtype == object else ()
        for child in inside:
            _check_trees(child, width, seen)
        return
    attributes = getattr(part, "__dict__", {})
    own = attributes.get("n_features_in_")
    known = min((count for count in (own, width) if count is not None), default=0)
    if "tree_" in attributes:
        tree = attributes["tree_"]
        inner = tree.children_left != -1
        _check_nodes(
            inner, tree.children_left, tree.children_right, tree.feature, known
        )
        _refuse_unless((tree.children_right[~inner] == -1).all())
    for tree in [t for stage in attributes.get("_predictors", []) for t in stage]:
        nodes = tree.nodes
        if nodes["is_categorical"].any():
            raise StorageError(
                "boosting with categorical splits cannot be exported.",
                "Encode categories as numbers.",
            )
        _check_nodes(
            nodes["is_leaf"] == 0,
            nodes["left"],
            nodes["right"],
            nodes["feature_idx"],
            known,
        )
    for name, child in attributes.items():
        _check_trees(child, own if name == "estimators_" else None, seen)


def _check_nodes(inner: Any, left: Any, right: Any, feature: Any, width: int) -> None:
    """Children must come after their parent and before the end, so that every path ends
    in a leaf.
    """
    place = np.arange(len(left))
    for child in (left, right):
        _refuse_unless(
            len(child) > 0 and ((child > place) & (child < len(child)))[inner].all()
        )
    _refuse_unless(((feature[inner] >= 0) & (feature[inner] < width)).all())


def _refuse_unless(sound: Any) -> None:
    if not sound:
        raise StorageError(
            "a decision tree points outside of itself or of its features.",
            "The file is damaged.",
        )

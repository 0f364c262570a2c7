"""The versions that a result is made with."""

import platform
from functools import cache
from importlib.metadata import version

VERSION = version("improvable")
PACKAGES = ("improvable", "numpy", "scipy", "scikit-learn", "polars", "narwhals", "skrub", "highspy")
"""Packages whose version can change a number."""


def versions() -> dict[str, str]:
    """The versions that a result is made with."""
    return dict(_installed())


@cache
def _installed() -> dict[str, str]:
    """Looked up once: reading what is installed takes as long as a tenth of a small audit."""
    return {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}

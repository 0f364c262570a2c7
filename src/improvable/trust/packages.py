"""Packages that only some proofs need."""

from importlib.util import find_spec

from improvable.errors import OptionError


def need_package(package: str, extra: str, what: str) -> None:
    """Refuse what needs a package that is not installed, naming the extra that brings it."""
    if find_spec(package) is None:
        raise OptionError(
            f"{what} need the package {package.replace('_', '-')}, which is not installed.",
            f"Install it: pip install 'improvable[{extra}]'.",
        )

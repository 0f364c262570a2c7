"""The process that runs a rule of the caller's own for one block; `own_code` starts it.

It reads one request from standard input (the rule's name, its files, the training rows
and the status quo) and writes one answer: the candidate, or why there is none. The code
is imported from a folder with the digested files alone. It may load what is installed
and what is part of its digest; whatever else it loads is refused.
"""

import importlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cloudpickle

from improvable.algorithms.constraints import honors_of
from improvable.algorithms.decisions import Algorithm
from improvable.algorithms.rules import as_rule, rule_names
from improvable.algorithms.rules.base import SelectionRule, Training
from improvable.algorithms.rules.own_code import INSTALLED, OURS
from improvable.errors import ImprovableError, OptionError, RuleError


def main() -> None:
    """Answer one request; what the code prints goes to standard error."""
    reply = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with reply:
        reply.write(answer_request(sys.stdin.buffer.read()))
    sys.stderr.flush()
    os._exit(0)  # no thread and no exit hook of the code outlives its answer


def answer_request(request: bytes) -> bytes:
    """What the code finds, or why it failed: (True, answer) or (False, reason)."""
    preloaded = frozenset(sys.modules)
    module, attribute, files, lesson = cloudpickle.loads(request)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        try:
            rule = load_rule(module, attribute, files, place)
            refuse_strangers(place, preloaded)
            answer = apply_rule(rule, lesson)
            refuse_strangers(place, preloaded)
            # a candidate of the code's own classes travels with them
            for name, file in find_files(preloaded).items():
                if file.is_relative_to(place):
                    cloudpickle.register_pickle_by_value(sys.modules[name])
            return bytes(cloudpickle.dumps((True, answer)))
        except ImprovableError as error:
            kind = "option" if isinstance(error, OptionError) else "rule"
            failure = (kind, error.message, error.hint)
        except Exception as error:
            reason = " ".join(str(error).split())[:240]
            message = (
                f"rule '{module}:{attribute}' failed: {type(error).__name__}: {reason}"
            )
            failure = ("rule", message, "")
    return bytes(cloudpickle.dumps((False, failure)))


def load_rule(
    module: str, attribute: str, files: Mapping[str, bytes], place: Path
) -> SelectionRule:
    """The rule, imported from its files in a folder that has nothing else."""
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sys.path.insert(0, str(place))
    importlib.invalidate_caches()
    try:
        return as_rule(getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        hint = f"Rules are {', '.join(rule_names())}, or module:object of your own."
        raise OptionError(
            f"the rule '{module}:{attribute}' cannot be imported: {error}.", hint
        ) from error


def apply_rule(rule: SelectionRule, lesson: tuple[Training, Algorithm] | None) -> Any:
    """The rule's candidate, or, without a lesson, its name and what it honors."""
    if lesson is None:
        return rule.name, honors_of(rule)
    return rule.select(*lesson)


def refuse_strangers(place: Path, preloaded: frozenset[str]) -> None:
    """Refuse code that has loaded a module which is neither installed nor part of its
    digest.
    """
    allowed = (place, OURS, *INSTALLED)
    for name, file in find_files(preloaded).items():
        if not any(file.is_relative_to(folder) for folder in allowed):
            what = (
                f"the rule's code loads '{name}', which is neither installed nor part "
                "of its digest."
            )
            raise RuleError(what, "Put it beside the rule and import it by its name.")


def find_files(preloaded: frozenset[str]) -> dict[str, Path]:
    """The files of all modules that were loaded after the process began."""
    files = {}
    for name in sys.modules.keys() - preloaded:
        file = getattr(sys.modules[name], "__file__", None)
        if isinstance(file, str):
            files[name] = Path(file).resolve()
    return files

"""Audits and comparisons whose settings are flat, as tests keep them in dictionaries,
through the public functions.
"""

import inspect
from dataclasses import fields
from typing import Any

import improvable
from improvable.procedure.compare import run_comparison
from improvable.procedure.run import run_audit
from improvable.question.options import COMPARE
from improvable.question.settings import ELSEWHERE, OBJECTS, Settings, asked

RUNNING = ("n_jobs", "run_folder", "progress")


def grouped(flat: dict[str, Any]) -> dict[str, Any]:
    """The same settings in the value objects that have them."""
    out = dict(flat)
    for argument, kind in OBJECTS.items():
        named = {one.name: ELSEWHERE.get(one.name, one.name) for one in fields(kind)}
        held = {
            field: out[name]
            for field, name in named.items()
            if name in out and name not in OBJECTS
        }
        if held:
            columns = {"columns": out["group"]} if argument == "group" else {}
            out = {
                name: value for name, value in out.items() if name not in named.values()
            }
            out[argument] = kind(**columns, **held)
    return out


def flat_audit(data: Any, **flat: Any) -> improvable.Audit:
    """`improvable.audit`; settings that only a protocol has go the way of a
    protocol.
    """
    arguments = grouped(flat)
    if arguments.keys() <= inspect.signature(improvable.audit).parameters.keys():
        return improvable.audit(data, **arguments)
    running = {name: flat[name] for name in RUNNING if name in flat}
    return run_audit(data, Settings(**asked(flat)), **running)


def flat_compare(data: Any, **flat: Any) -> improvable.Comparison:
    """`improvable.compare`; what is said about the audit goes the way of the command
    line.
    """
    arguments = grouped(flat)
    if not arguments.keys() & {one.name for one in fields(improvable.About)}:
        return improvable.compare(data, **arguments)
    return run_comparison(
        data, Settings(**asked(flat, COMPARE)), flat["candidate"], flat.get("n_jobs")
    )

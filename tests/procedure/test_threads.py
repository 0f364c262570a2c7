"""Estimators take no more threads than their share, whatever library brings them, and
however late it was loaded.
"""

import sys
from types import ModuleType

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from improvable.procedure.parallel import limited_threads, one_blas_thread


def threads() -> dict[str, set[int]]:
    """How many threads each kind of library may have now."""
    found: dict[str, set[int]] = {}
    for library in threadpool_info():
        found.setdefault(library["user_api"], set()).add(library["num_threads"])
    return found


def test_linear_algebra_gets_one_thread_and_estimators_their_share_of_the_workers() -> (
    None
):
    with limited_threads(workers=7, repetitions=2):
        assert threads() == {"blas": {1}, "openmp": {3}}
        with one_blas_thread():
            assert threads() == {"blas": {1}, "openmp": {3}}
        assert threads() == {"blas": {1}, "openmp": {3}}


def test_afterwards_all_is_as_before() -> None:
    before = threads()
    with limited_threads(workers=7, repetitions=2):
        pass
    assert threads() == before


def test_libraries_are_looked_for_again_only_after_an_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    load = ThreadpoolController._load_libraries

    def look(controller: ThreadpoolController) -> None:
        looked.append(1)
        load(controller)

    monkeypatch.setattr(ThreadpoolController, "_load_libraries", look)
    monkeypatch.setitem(sys.modules, "imported_first", ModuleType("imported_first"))
    for _ in range(3):
        with limited_threads(workers=1, repetitions=1), one_blas_thread():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "imported_later", ModuleType("imported_later"))
    with one_blas_thread():
        assert len(looked) == 2

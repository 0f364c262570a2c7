"""The pages' own code runs as printed, and prints what they show."""

import shutil
from pathlib import Path

import pytest

from pages import DOCS, needs, pages, rerun


@pytest.mark.parametrize(
    "path", pages(), ids=lambda path: str(path.relative_to(DOCS).with_suffix(""))
)
def test_pages_print_what_they_show(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    need = needs(path)
    if need is not None:
        source = request.getfixturevalue("shared_data") / need
        if not source.exists():
            pytest.skip(f"no {need} in {source.parent}")
        shutil.copy(source, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert rerun(path) == path.read_text(encoding="utf-8"), (
        "run python tests/pages.py and look at what changed"
    )


def test_only_the_page_that_engines_run_has_other_python() -> None:
    """A ```python block is not run here: `tests/engines/test_large_data_page.py` runs
    those of that page.
    """
    found = [
        path.stem
        for path in sorted(DOCS.rglob("*.md"))
        if "\n```python\n" in path.read_text(encoding="utf-8")
    ]
    assert found == ["large-data"]

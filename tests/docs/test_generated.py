"""Generated pages say what the program says now."""

from pathlib import Path

import pytest

from docs.generate.__main__ import every_page

PAGES = every_page()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_generated_page_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path], "run make pages"

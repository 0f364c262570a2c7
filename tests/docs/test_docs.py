"""Every Python block in the documentation runs; those that need an engine are run with the engines."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{i}")
    for path in sorted(DOCS.rglob("*.md"))
    if path.stem != "large-data"
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_run(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "docs", "exec"), {})
    assert capsys.readouterr().out

"""Every block of the page on large data works as written, in order."""

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from improvable.cli import run

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "large-data.md"
BLOCKS = re.findall(
    r"```(python|console)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)


def test_the_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    spark: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    p_values = []
    for kind, block in BLOCKS:
        # Spark began elsewhere
        text = block.replace(
            'read.parquet("people")', f'read.parquet("{tmp_path}/people")'
        )
        if kind == "python":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                names: dict[str, Any] = {}
                exec(compile(text, str(PAGE), "exec"), names)
            if "audit(" in text:
                p_values.append(names["result"].to_dict())
        else:
            assert run(text.split()[1:]) == 0
        assert capsys.readouterr().out
    assert len(p_values) == 4
    assert all(found == p_values[0] for found in p_values)

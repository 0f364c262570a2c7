"""Reports that everybody can read: axe-core finds nothing serious, in light and dark,
for two and for ten groups.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

import improvable
from browser_serving import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def people(groups: int) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    n = 400 * groups
    group, need = rng.integers(0, groups, n), rng.normal(size=n)
    return pl.DataFrame(
        {
            "group": [f"District {chr(65 + g)}" for g in group],
            "outcome": rng.poisson(np.exp(0.5 * need)),
            "status_quo": (need - 0.4 * (group == 0) + rng.normal(size=n) > 0.5).astype(
                int
            ),
            "candidate": (need + 0.3 * rng.normal(size=n) > 0.5).astype(int),
        }
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("groups", [2, 10])
def test_nothing_serious_is_found(
    browser: Browser, tmp_path: Path, groups: int, scheme: Literal["light", "dark"]
) -> None:
    result = improvable.compare(
        people(groups),
        outcome="outcome",
        group="group",
        status_quo="status_quo",
        candidate="candidate",
        test=improvable.Test(draws=300),
    )
    result.report(tmp_path / "report.html")
    page = browser.new_page(
        color_scheme=scheme, viewport={"width": 1200, "height": 900}
    )
    page.goto((tmp_path / "report.html").as_uri())
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    page.close()
    assert not [
        f"{one['id']}: {one['nodes'][0]['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]

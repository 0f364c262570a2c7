"""What was counted on held-out rows, kept as plain data: all that draws, and so p-values, are made from.

Distinct contributions and how often each occurs; no row, no feature, no person. They are kept with a repetition where
there are few of them, so that others can draw again without the data (`improvable bundle`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from improvable.inference.cells import Cells
from improvable.inference.normal_limit import Moments
from improvable.inference.tally import Counted

MOST_KEPT = 5_000
"""With more distinct contributions than this they are not kept: outcomes are then nearly all different."""


def few_enough(counted: Counted) -> bool:
    """Whether there are few enough distinct contributions to keep them."""
    return isinstance(counted.strata, Moments) or sum(len(cells.counts) for cells in counted.strata) <= MOST_KEPT


def plain_counts(counted: Counted | None) -> dict[str, Any] | None:
    """Cells or moments as plain data; None where there are too many."""
    if counted is None or not few_enough(counted):
        return None
    if isinstance(counted.strata, Moments):
        moments = counted.strata
        exact = {name: [hex(total) for total in getattr(moments, name)] for name in ("first", "second")}
        return {"rows": moments.rows, "blocks": moments.blocks, "width": moments.width, **exact}
    strata = [
        {
            "blocks": cells.blocks,
            "silent": cells.silent,
            "width": cells.values.shape[1],
            "cells": [
                [int(block), int(count), *map(float, values)]
                for block, count, values in zip(cells.block, cells.counts, cells.values, strict=True)
            ],
        }
        for cells in counted.strata
    ]
    return {"strata": strata, "clusters": counted.clusters}


def counts_from(plain: Mapping[str, Any] | None) -> Counted | None:
    """The same, back; whatever is not as `plain_counts` writes it is a `ValueError` or a `TypeError`."""
    if plain is None:
        return None
    if "strata" not in plain:
        first, second = (tuple(int(total, 16) for total in plain[name]) for name in ("first", "second"))
        rows, blocks, width = (_whole(plain[name], 0) for name in ("rows", "blocks", "width"))
        if len(first) != blocks * width or len(second) != blocks * width * (width + 1) // 2:
            raise ValueError("moments of another shape")
        return Counted(Moments(rows, blocks, width, first, second), None)
    clusters = None if plain["clusters"] is None else _whole(plain["clusters"], 1)
    return Counted(tuple(_cells_from(one) for one in plain["strata"]), clusters)


def _cells_from(plain: Mapping[str, Any]) -> Cells:
    blocks, silent, width = (_whole(plain[name], low) for name, low in (("blocks", 1), ("silent", 0), ("width", 1)))
    lines = [(_whole(line[0], 0), _whole(line[1], 1), *map(float, line[2:])) for line in plain["cells"]]
    if any(len(line) != width + 2 or line[0] >= blocks for line in lines) or lines != sorted(lines, key=_place):
        raise ValueError("cells of another shape or order")
    values = np.asfortranarray(np.array([line[2:] for line in lines], dtype=np.float64).reshape(-1, width))
    if not np.isfinite(values).all():
        raise ValueError("cells that are not numbers")
    block, counts = (np.array([line[j] for line in lines], dtype=np.int64) for j in range(2))
    return Cells(values, block, counts, silent, blocks)


def _place(line: tuple[Any, ...]) -> tuple[Any, ...]:
    return (line[0], *line[2:])


def _whole(value: Any, low: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < 1 << 62:
        raise ValueError(f"{value!r} is not a count")
    return value

"""Rules that memorize, on rows with near-duplicates: where folds may claim too much.

A memorizing rule that finds the twin of a row in the other fold carries one row's noise into both halves of a pooled
test. Rules that memorize are harmless without near-duplicates, and near-duplicates without such rules; both together
are a caution.
"""

from collections.abc import Sequence

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.data.duplicates import near_twins
from improvable.data.frames import Rows
from improvable.errors import Caution
from improvable.inference.cells import CANDIDATE, STATUS_QUO, U, W
from improvable.inference.evidence import Evidence

LOST = 0.2
"""A rule memorizes where it loses so much of what it gains over the status quo on the rows that it learned from. Twins
hide a part of the loss: where every row has one, half of the rows are decided for by someone who saw their twin."""
CLEAR = 3.0
"""In standard errors: what is lost beyond chance."""
COMMON = 0.2
"""Near-duplicates are common where so many rows have one."""
NEAR = 0.01
"""In standard deviations of a feature: differences that are none."""


def memorizes(evidence: Evidence, learned: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[float, float] | None:
    """The accuracy of candidates on rows that they learned from, and on others, where that is much lower; else None.

    Parameters
    ----------
    evidence : Evidence
        Of all rows, each decided for by a candidate that did not learn from it.
    learned : sequence of pairs of arrays of shape (utilities, 2)
        Sums over the training rows of every fold, of the status quo and of the candidate.
    """
    measure = evidence.accuracy[0]
    value, drawn = evidence.overall("population", measure)
    inside = np.array(learned)[:, :, measure].sum(axis=0)
    if inside[:, W].min() <= 0 or not np.isfinite(value).all():
        return None
    before, within = (float(inside[t, U] / inside[t, W]) for t in (STATUS_QUO, CANDIDATE))
    others, better = float(value[CANDIDATE]), evidence.better(measure)
    lost, gained = better * (within - others), better * (within - before)
    error = float(np.nanstd(drawn[:, CANDIDATE]))
    return (within, others) if gained > 0 and lost > max(LOST * gained, CLEAR * error) else None


def memorizing_cautions(
    found: tuple[float, float] | None, label: str, rows: Rows, features: Sequence[str]
) -> list[Caution]:
    """The caution, where near-duplicates are common among the rows of a rule that memorizes."""
    twins = 0.0 if found is None else near_twins(rows, features, NEAR)
    if found is None or twins < COMMON:
        return []
    text = (
        f"the rule memorizes: '{label}' is {found[0]:.3g} on the rows that its candidates learned from and "
        f"{found[1]:.3g} on others; and {twins:.0%} of the rows have a near-duplicate. Folds may then claim too much. "
        "Keep such rows together (--cluster), or declare the paper's split (no --folds) before the next audit."
    )
    return [Caution("memorized twins", text)]

# %% [markdown]
# # The paper's application
#
# Section 6 of the paper audits a hospital's care program. The published data may not be
# redistributed with this package. If you have the held-out third of them (name its
# folder in `IMPROVABLE_DATA`), it is used here; otherwise the simulated program is.
# `make replicate` does all of Section 6 and Appendix H.

# %%
import os
from pathlib import Path

import improvable

file = Path(os.environ.get("IMPROVABLE_DATA", ".")) / "obermeyer_holdout.csv"
published = file.exists()
print("published data, held-out third" if published else "SIMULATED data")

# %% [markdown]
# In the published third, a LASSO score was fitted on the other two thirds, so it is a
# genuine held-out candidate. In the simulated program, last year's conditions stand in
# for it. The paper's own gap statistic is used.

# %%
patients = file if published else improvable.datasets.care_management(24_000, seed=0)
candidate = "gagne_sum_t_hat" if published else "gagne_sum_tm1"
result = improvable.compare(
    patients,
    outcome="gagne_sum_t",
    group="race",
    status_quo=improvable.threshold("risk_score_t", capacity=0.03),
    candidate=improvable.threshold(candidate, capacity=0.03),
    claim=improvable.Claim(gap="absolute"),
)
print(result.summary())

# %% [markdown]
# The paper's table for LASSO averages, over its seven splits: White 5.134 to 7.269,
# Black 6.544 to 7.490, and the gap 1.409 to 0.261.

# %% [markdown]
# Appendix H measures accuracy by cost instead, and does not reject.

# %%
cost = improvable.compare(
    patients,
    outcome="gagne_sum_t",
    group="race",
    status_quo=improvable.threshold("risk_score_t", capacity=0.03),
    candidate=improvable.threshold(candidate, capacity=0.03),
    accuracy="calibration:cost_t",
    fairness="calibration",
    claim=improvable.Claim(gap="absolute"),
)
print(f"accuracy by cost: p = {cost.p_value:.3f}, rejected: {cost.reject}")

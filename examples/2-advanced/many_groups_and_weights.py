# %% [markdown]
# # Several groups, weights and clusters
#
# Patients with several visits, survey weights, and groups by race and by sex: what real
# audits look like.

# %%
import numpy as np
import polars as pl

import improvable

rng = np.random.default_rng(0)
people = improvable.datasets.care_management(6_000, seed=0).with_columns(
    sex=pl.when(pl.col("dem_female") == 1)
    .then(pl.lit("female"))
    .otherwise(pl.lit("male")),
    weight=pl.Series(rng.uniform(0.5, 2.0, 6_000).round(2)),
)
visits = people.with_row_index("patient").sample(9_000, with_replacement=True, seed=1)
print(f"{len(visits):,} visits of {visits['patient'].n_unique():,} patients")

# %% [markdown]
# Both races and both sexes must gain, and both gaps must shrink. A patient stays whole
# in every block and every draw.

# %%
result = improvable.audit(
    visits,
    outcome="gagne_sum_t",
    group=["race", "sex"],
    status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    rule="linear",
    features=["gagne_sum_tm1", "*_elixhauser_tm1"],
    weight="weight",
    cluster="patient",
    test=improvable.Test(repetitions=3, draws=500),
)
print(result.summary())

# %% [markdown]
# The same with one group for each intersection, but for the small ones: a column of
# our own merges them, and a group with fewer than 600 visits would be refused.

# %%
merged = visits.with_columns(
    people=pl.when(pl.col("race") == "black")
    .then(pl.lit("black"))
    .otherwise(pl.concat_str("race", "sex", separator=", "))
)
crossed = improvable.audit(
    merged,
    outcome="gagne_sum_t",
    group=improvable.Groups("people", min_group=600),
    status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    rule="linear",
    features=["gagne_sum_tm1", "*_elixhauser_tm1"],
    cluster="patient",
    test=improvable.Test(repetitions=3, draws=500),
)
print(crossed.groups)
for text in crossed.warnings:
    print("-", text)

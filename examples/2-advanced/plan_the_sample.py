# %% [markdown]
# # Plan the sample
#
# How many rows would an audit need? First from assumptions, then from a pilot. A plan
# compares forward repetitions, the default, with the paper's split.

# %%
import improvable
from improvable.studies.power import (
    AssumedGroup,
    power_from_assumptions,
    power_from_pilot,
)

groups = [
    AssumedGroup(
        "black",
        share=0.12,
        rates=(0.05, 0.07),
        means=(6.5, 7.4),
        spread=3.5,
        overlap=0.4,
    ),
    AssumedGroup(
        "white",
        share=0.88,
        rates=(0.027, 0.024),
        means=(5.1, 7.3),
        spread=3.5,
        overlap=0.3,
    ),
]
assumed = power_from_assumptions(groups, rows=30_000, simulations=500)
forward, split = assumed.sample_sizes
print(f"power with 30,000 rows: {assumed.asked.power:.2f}")
print(
    f"rows for a power of 0.8: {forward.rows:,} forward, {split.rows:,} with the "
    "paper's split"
)

# %% [markdown]
# A pilot also shows how much the rule gains from more training rows. Use other rows for
# the audit itself.

# %%
pilot = improvable.datasets.care_management(4_000, seed=1)
plan = power_from_pilot(
    pilot,
    rows=16_000,
    outcome="gagne_sum_t",
    group="race",
    status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    rule="linear",
    features=["gagne_sum_tm1", "*_elixhauser_tm1"],
    fits=5,
    sizes=3,
    simulations=300,
)
print(plan.summary())

# %% [markdown]
# The curve of power against rows, as a picture.

# %%
chart = plan.plot()

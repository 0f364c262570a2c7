# %% [markdown]
# # Compare two scores
#
# If you already have a candidate, there is nothing to search for: compare it with the
# status quo, on rows that neither was fitted on.

# %%
import improvable

patients = improvable.datasets.care_management(12_000, seed=1).to_pandas()
result = improvable.compare(
    patients,
    outcome="gagne_sum_t",
    group="race",
    status_quo=improvable.threshold("risk_score_t", capacity=0.05),
    candidate=improvable.threshold("gagne_sum_tm1", capacity=0.05),
)
print(result.summary())

# %% [markdown]
# `table()` is a data frame of the same kind as the input, pandas here, with a row for
# every condition.

# %%
table = result.table()
print(
    table[["kind", "group", "status_quo", "candidate", "difference"]].to_string(
        index=False
    )
)

# %% [markdown]
# The same draws answer other questions at once. Is the gap smaller by at least a
# quarter?

# %%
quarter = result.with_claim(delta_fairness=0.25)
print(quarter.alternative_hypothesis)
print(quarter.p_value, quarter.reject)

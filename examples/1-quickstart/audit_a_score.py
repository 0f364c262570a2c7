# %% [markdown]
# # Audit a score
#
# A hospital enrolls the patients with the highest risk score. Could another algorithm
# reach sicker patients in both groups, and more evenly? The data are simulated.

# %%
import improvable

patients = improvable.datasets.care_management(48_784, seed=0)
print(patients.shape)

# %% [markdown]
# One row is a patient. The outcome is the number of chronic conditions in the following
# year. A candidate may read what was known a year before: columns that end in `_tm1`.

# %%
result = improvable.audit(
    patients,
    outcome="gagne_sum_t",
    group="race",
    status_quo=improvable.threshold("risk_score_t", capacity=0.03),
    rule="linear",
    features=["gagne_sum_tm1", "*_elixhauser_tm1", "*_romano_tm1", "dem_*"],
    test=improvable.Test(repetitions=3, draws=1_000),
)
print(result.summary())

# %% [markdown]
# Only three repetitions, to be quick. The verdict comes in words, and so do both
# hypotheses.

# %%
print(result.null_hypothesis)
print(result.alternative_hypothesis)

# %% [markdown]
# A notebook displays pictures, and `chart.save("care.svg")` writes one; a report is one
# file that needs no network.

# %%
chart = result.plot("dumbbells")
result.report("care.html")

# %% [markdown]
# How large an improvement do the data support? No new computation is needed: the draws
# are kept.

# %%
for bound in result.bounds():
    print(bound.words)

# %% [markdown]
# # The paper's simulation
#
# Appendix E asks how often the fairness part of the test rejects, for candidates
# between perfectly fair (eta = 0) and as uneven as the status quo (eta = 1.52). The
# paper uses 5,000 simulations of 2,000 draws; here there are fewer.
#
# The replication is a folder of the repository, not of the package. Run this in the
# repository's root: `PYTHONPATH=. python examples/3-replications/appendix_e.py`.

# %%
import improvable
from replication.appendix_e import MEAN_GAP, appendix_e
from replication.from_run import power_from_run

etas = [0.0, 0.4, 0.8, 1.2, MEAN_GAP]
found = appendix_e(etas, sizes=[100, 200, 400], simulations=300, draws=300)
print("rows   eta  absolute  signed  (Monte Carlo error)")
for one in found:
    print(
        f"{one.size:4}  {one.eta:4.2f}  {one.absolute:8.3f}  {one.signed:6.3f}  "
        f"({one.error('absolute'):.3f})"
    )

# %% [markdown]
# At eta = 1.52 the null hypothesis holds, and both statistics reject about 5% of the
# time. Power falls as the candidate becomes less fair, and rises with the number of
# rows. With few rows the absolute statistic's power dips near perfect fairness, as in
# the paper's figure.

# %% [markdown]
# The level at a claimed cut of 80%, with the candidate exactly on the boundary of the
# null hypothesis: here the two statistics differ.

# %%
(boundary,) = appendix_e([0.2 * MEAN_GAP], [0.8], [100], simulations=300, draws=300)
print(f"nominal 0.05: absolute {boundary.absolute:.3f}, signed {boundary.signed:.3f}")

# %% [markdown]
# ## The same from an audit of one's own
#
# The paper's numbers were calibrated from the median split of its application.
# `power_from_run` does that with any finished audit: how likely is its fairness test to
# reject, for candidates of any gap, with half, as many and twice as many test rows?

# %%
audit = improvable.audit(
    improvable.datasets.care_management(12_000, seed=0),
    outcome="gagne_sum_t",
    group="race",
    status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    rule="linear",
    features=["gagne_sum_tm1", "cost_*_tm1", "dem_*"],
    test=improvable.Test(draws=1_000),
)
power = power_from_run(audit, etas=[0.0, 0.3, 0.6, 0.9], simulations=300, draws=300)
print(power.summary())

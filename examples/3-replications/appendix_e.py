# %% [markdown]
# # The paper's simulation
#
# Appendix E asks how often the fairness part of the test rejects, for candidates between perfectly fair (eta = 0) and
# as uneven as the status quo (eta = 1.52). The paper uses 5,000 repetitions of 2,000 draws; here there are fewer.

# %%
from improvable.studies.power.appendix_e import MEAN_GAP, appendix_e

etas = [0.0, 0.4, 0.8, 1.2, MEAN_GAP]
found = appendix_e(etas, sizes=[100, 200, 400], repetitions=300, draws=300)
print("rows   eta  absolute  signed  (Monte Carlo error)")
for one in found:
    print(f"{one.size:4}  {one.eta:4.2f}  {one.absolute:8.3f}  {one.signed:6.3f}  ({one.error('absolute'):.3f})")

# %% [markdown]
# At eta = 1.52 the null hypothesis holds, and both statistics reject about 5% of the time. Power falls as the candidate
# becomes less fair, and rises with the number of rows. With few rows the absolute statistic's power dips near perfect
# fairness, as in the paper's figure.

# %% [markdown]
# The level at a claimed cut of 80%, with the candidate exactly on the boundary of the null hypothesis: here the two
# statistics differ.

# %%
(boundary,) = appendix_e([0.2 * MEAN_GAP], [0.8], [100], repetitions=300, draws=300)
print(f"nominal 0.05: absolute {boundary.absolute:.3f}, signed {boundary.signed:.3f}")

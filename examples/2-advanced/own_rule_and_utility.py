# %% [markdown]
# # Your own rule and utility
#
# A lender earns 8 on a loan that is repaid and loses 60 on one that is not. What would
# another way of deciding return, and how evenly would loans be granted?

# %%
import numpy as np
import pandas as pd

import improvable

rng = np.random.default_rng(3)
n = 16_000
group = np.where(rng.random(n) < 0.4, "b", "a")
means = rng.normal(size=n)
loans = pd.DataFrame(
    {
        "group": group,
        "score": means + rng.normal(size=n) - 0.7 * (group == "b"),
        "rent": means + rng.normal(scale=0.4, size=n),
        "income": means + rng.normal(scale=0.4, size=n),
        "repaid": (rng.random(n) < 1 / (1 + np.exp(-2.5 - 1.5 * means))).astype(int),
    }
)

# %% [markdown]
# A utility is a pair of functions of whole columns.

# %%
net_return = improvable.Utility(
    lambda repaid, granted: granted * np.where(repaid == 1, 8.0, -60.0),
    lambda repaid, granted: granted,
    name="net_return",
    words="the net return per loan granted",
    binary_decision=True,
    binary_outcome=True,
)


# %% [markdown]
# A rule turns training rows into a candidate. This one adds up standardized features,
# as a clerk would.


# %%
class Points:
    """Select by the sum of all features, each in standard deviations of the training
    rows.
    """

    name = "points"

    def select(
        self, training: improvable.Training, status_quo: improvable.Algorithm
    ) -> improvable.Selection:
        """Learn means and spreads from training rows only."""
        rows = training.rows.native()[list(training.features)]
        middle, spread = rows.mean(), rows.std()

        def points(frame: pd.DataFrame) -> pd.Series:
            return ((frame[list(training.features)] - middle) / spread).sum(axis=1)

        candidate = improvable.threshold(points, capacity=training.constraints.capacity)
        return improvable.Selection(candidate, {"features": list(training.features)})


# %%
result = improvable.audit(
    loans,
    outcome="repaid",
    group="group",
    status_quo=improvable.threshold("score", capacity=0.5),
    rule=Points(),
    features=["rent", "income"],
    accuracy=net_return,
    fairness="selection_rate",
    claim=improvable.Claim(form="difference"),
    test=improvable.Test(draws=1_000),
)
print(result.summary())

# %% [markdown]
# An audit with your own Python objects cannot be written as a protocol, and says so.

# %%
print(result.to_dict()["protocol"])

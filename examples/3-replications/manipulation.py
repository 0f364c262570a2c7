# %% [markdown]
# # The paper's game
#
# Section 5: an analyst who wants a rejection repeats the test in secret; a policymaker
# picks the procedure that resists her. Procedure s1 is one split, s2 the median of K
# splits.

# %%
from improvable.studies.game import (
    GaussianMixing,
    costs_of,
    hoeffding_repetitions,
    play,
)

print(
    "Proposition 1, at a level of 5%: at least", hoeffding_repetitions(0.05), "splits"
)
for correlation in (0.0, 0.3):
    game = play(*costs_of(0.001, 7), repetitions=7, mixing=GaussianMixing(correlation))
    print(
        f"correlation {correlation:g}: one split {game.single.rejection:.2f} after "
        f"{game.single.attempts} tries, median {game.repeated.rejection:.3f} after "
        f"{game.repeated.attempts}; more robust: {game.more_robust}"
    )

# %% [markdown]
# Costs need not be linear. Here every further split is dearer than the one before.

# %%
game = play(*costs_of("0.001*m**1.5", 7), repetitions=7, mixing=GaussianMixing(0.3))
print(f"one split: {game.single.attempts} tries, payoff {game.single.analyst:.3f}")

# %% [markdown]
# What the analyst gains by the best of several seeds, at these costs or at none.

# %%
for procedure, shares in game.best_of_seeds().items():
    print(procedure, [round(share, 3) for share in shares])

# %% [markdown]
# # The paper's game
#
# Section 5: an analyst who wants a rejection repeats the test in secret; a policymaker picks the procedure that resists
# her. Procedure s1 is one split, s2 the median of K splits.

# %%
from improvable.studies.game.costs import costs_from_formula
from improvable.studies.game.game import hoeffding_repetitions, linear_costs, play
from improvable.studies.game.lemma import lemma_bounds
from improvable.studies.game.mixing import BetaMixing

print("Proposition 1, at a level of 5%: at least", hoeffding_repetitions(0.05), "splits")
for correlation in (0.0, 0.3):
    game = play(*linear_costs(0.001, 7), repetitions=7, mixing=BetaMixing(correlation))
    print(
        f"correlation {correlation:g}: one split {game.single.rejection:.2f} after {game.single.attempts} tries, "
        f"median {game.repeated.rejection:.3f} after {game.repeated.attempts}; more robust: {game.more_robust}"
    )

# %% [markdown]
# Costs need not be linear. Here every further split is dearer than the one before.

# %%
game = play(*costs_from_formula("0.001*m**1.5").both(7), repetitions=7, mixing=BetaMixing(0.3))
print(f"one split: {game.single.attempts} tries, payoff {game.single.analyst:.3f}")

# %% [markdown]
# Where a second try is not worth its cost, Assumption 4 fails. The lemma behind Theorem 3 still bounds what the median
# can lose: with more than K-bar splits it rejects a true null with probability below alpha + epsilon.

# %%
bounds = lemma_bounds(lambda m: 0.03 * m, epsilon=0.001, mixing=BetaMixing(0.5))
print(f"fewer than {bounds.m_bar} attempts pay; more than {bounds.k_bar} splits: below {0.05 + bounds.epsilon:g}")

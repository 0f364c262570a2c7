# %% [markdown]
# # Seal and verify, from Python
#
# What the commands `seal`, `audit` and `verify` do, step by step. The command line also
# keeps a ledger.

# %%
from pathlib import Path

import improvable
from improvable.procedure.prepare import prepare_audit
from improvable.procedure.run import run_prepared
from improvable.question.protocol import declare
from improvable.question.settings import Settings
from improvable.trust.seal import (
    check_seal,
    make_seal,
    read_protocol,
    seal_path,
    settings_of,
    write_protocol,
    write_seal,
)
from improvable.trust.verification import verify

improvable.datasets.care_management(4_000, seed=0).write_csv("patients.csv")

# %% [markdown]
# The analyst declares the audit.

# %%
settings = Settings(
    outcome="gagne_sum_t",
    group="race",
    status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    rule="linear",
    features=["gagne_sum_tm1", "*_elixhauser_tm1"],
    repetitions=3,
    draws=500,
)
declared = declare(settings)
assert declared is not None
declared["test"].pop("seed")  # a sealed audit has none
write_protocol(declared, "care.toml")
print(Path("care.toml").read_text())

# %% [markdown]
# The other side answers with a challenge. The seal binds protocol, data and challenge.

# %%
seal = make_seal(read_protocol("care.toml"), "patients.csv", challenge="docket 24-1234")
write_seal(seal, seal_path("care.toml"))
print(seal.digest)

# %% [markdown]
# The audit runs as sealed: a different protocol, or different data, would be refused.

# %%
sealed, kept = settings_of("care.toml")
assert kept is not None
ready = prepare_audit("patients.csv", sealed)
check_seal(kept, ready)
result = run_prepared(ready, run_folder="run")
print(result.p_value, result.reject)

# %% [markdown]
# The other side recomputes it from its own copy of the data.

# %%
verification = verify("run", "patients.csv")
print(verification.same, len(verification.checked), "numbers and texts are the same")

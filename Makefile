# Two commands do everything on a fresh machine with Python (3.11 or newer) and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

.PHONY: demo test lint types browser bench clean

demo: $(STAMP)
	$(BIN)/improvable demo

test: lint types browser $(STAMP)
	$(BIN)/pytest -n 2

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP)
	$(BIN)/mypy

# The report is tested in a browser. Where there is none and it cannot be installed, those tests fail and say so.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null) || true

bench: $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[bench]"
	$(BIN)/python benchmarks/compare_against_peers.py
	$(BIN)/python benchmarks/audit_a_million_rows.py
	$(BIN)/python benchmarks/resampling_costs.py
	$(BIN)/python benchmarks/linear_rules.py
	$(BIN)/python benchmarks/tournament_overhead.py

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache

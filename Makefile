# Two commands do everything on a fresh machine with Python (3.11 or newer) and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

.PHONY: demo test test-engines lint types browser java bench validity docs notebooks pictures dist clean

demo: $(STAMP)
	$(BIN)/improvable demo

test: lint types browser $(STAMP)
	$(BIN)/pytest -n 2

# Real Dask, Spark, DuckDB and Ray on this machine. Spark needs Java; where there is none its tests fail and say so.
ENGINES := $(VENV)/engines-installed
test-engines: java $(ENGINES)
	$(BIN)/pytest -n 2 --dist loadfile tests/engines

$(ENGINES): $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev,engines]"
	touch $(ENGINES)

java:
	@command -v java > /dev/null || \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless > /dev/null) || true

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP)
	$(BIN)/mypy

# The report is tested in a browser. Where there is none and it cannot be installed, those tests fail and say so.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null) || true

# Levels and power by simulation, written to docs/validity.md: about half an hour.
validity: $(STAMP)
	$(BIN)/python tests/simulation/validity.py --out docs/validity.md

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(STAMP)
	$(BIN)/jupytext --quiet --to ipynb examples/*/*.py

pictures: $(STAMP)
	$(BIN)/python docs/pictures/draw.py

dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --quiet
	ls dist

# Against peers, engines and sizes, written to docs/benchmarks.md: about a quarter of an hour.
bench: $(STAMP)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[bench]"
	$(BIN)/python benchmarks/write_page.py

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache

# Two commands do everything on a fresh machine with Python (3.11 or newer) and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# --no-compile: Python compiles what it imports when it first imports it, and that is a small part of what is installed.
INSTALL := $(BIN)/pip install --quiet --no-compile --constraint constraints.txt

# Where bytecode is switched off, as in many containers, every Python that is started here would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

# One environment, filled as far as a command needs it: what the package needs, what its developers need, then engines.
MADE := $(VENV)/made
RUNTIME := $(VENV)/installed
DEV := $(VENV)/dev-installed
SPARK := $(VENV)/spark-built
ENGINES := $(VENV)/engines-installed

.PHONY: demo test golden accept pytest everything system engines test-engines r test-r lint types browser latex java replicate speed bench board cases validity pages docs notebooks pictures dist clean

demo: $(RUNTIME)
	$(BIN)/improvable demo

# One thread a worker: two workers whose estimators start a thread a core wait for each other most of the time, and an
# audit that takes all cores by default takes one. Stealing work keeps the tests of a file, and what they share, on one
# worker. There is one worker more than most machines of CI have cores: some tests wait for processes and browsers.
pytest test-engines test-r: export OMP_NUM_THREADS = 1
pytest test-r: export POLARS_MAX_THREADS = 1
pytest test-r: export LOKY_MAX_CPU_COUNT = 1
pytest: browser latex $(DEV)
	$(BIN)/pytest -n 3 --dist worksteal

test: lint types pytest

# In what results differ from the golden ones of tests/golden; or accept that they do, and say why:
# make accept KIND=numbers SUBJECT="Tied scores are counted" REASON="A tied row counts with the share that is taken."
# KIND is numbers, words or both.
golden accept: export OMP_NUM_THREADS = 1
golden accept: export POLARS_MAX_THREADS = 1
golden accept: export PYTHONPATH = tests
golden: $(DEV)
	@$(BIN)/python -m golden.accept

accept: $(DEV)
	@$(BIN)/python -m golden.accept $(or $(KIND),$(error KIND is numbers, words or both))

# All that `.ci/run` needs: with --jobs=3, pip fills the environment and builds Spark while apt installs.
everything: $(ENGINES) system

# Real Dask, Spark and DuckDB on this machine. Spark needs Java; where there is none its tests fail and say so.
engines: java $(ENGINES)

# One process: a second one would start a second Java, and import everything again.
test-engines: engines
	$(BIN)/pytest tests/engines

# Programs that Debian has: how to see that one is there, and its packages. As root they are installed where they are
# missing. Where they cannot be, tests that need Chromium, Java or R fail and say so; LaTeX that is written is not compiled.
SEEN_browser := command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome
SEEN_latex := command -v pdflatex
SEEN_java := command -v java
SEEN_r = dpkg -s $(PACKAGES_r)
PACKAGES_browser := chromium-headless-shell fonts-liberation
PACKAGES_latex := texlive-latex-recommended
PACKAGES_java := default-jre-headless
PACKAGES_r := r-base-core r-cran-reticulate r-cran-testthat r-cran-tibble r-cran-haven r-cran-generics
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends
missing = $$($(foreach one,$(1),{ $(SEEN_$(one)); } > /dev/null 2>&1 || echo $(PACKAGES_$(one));))
provide = @missing="$(missing)"; [ -z "$$missing" ] || (apt-get update -qq && $(APT) $$missing > /dev/null) || true

browser latex java r:
	$(call provide,$@)

system:
	$(call provide,browser latex java r)

# The R package against this environment's Python.
R_LIBRARY := build/r
test-r: export R_LIBS = $(abspath $(R_LIBRARY))
test-r: export IMPROVABLE_PYTHON = $(abspath $(BIN)/python)
test-r: r $(DEV)
	@mkdir -p $(R_LIBRARY)
	R CMD INSTALL --no-test-load --library=$(R_LIBRARY) r/improvable > $(R_LIBRARY)/install.log 2>&1 || (cat $(R_LIBRARY)/install.log; exit 1)
	Rscript r/improvable/tests/run.R

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(DEV)
	$(BIN)/mypy

# Levels and power by simulation, written to docs/evidence/validity.md: hours. What is done is kept in build/validity, so that it
# continues where it stopped; SHARE=0.1 draws a tenth of all samples, JOBS=4 runs four parts of the study at a time.
SHARE ?= 1
JOBS ?= 2
validity: export OMP_NUM_THREADS = 1
validity: $(DEV)
	$(BIN)/python benchmarks/validity/run_study.py --share $(SHARE) --jobs $(JOBS) --out docs/evidence/validity.md

# The paper's tables, figures and power curves beside ours. FILE is the published data set, or its held-out third;
# without it the data are simulated. FAST=1 takes about a minute. What is done is kept in build/replication.
replicate: $(RUNTIME)
	$(BIN)/python -m replication $(if $(FILE),--data $(FILE)) $(if $(FAST),--fast)

# What pages take from the program: settings, commands, the JSON schema, attacks, rules, the paper's elements.
pages: $(DEV)
	$(BIN)/python -m docs.generate

docs: pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(DEV)
	$(BIN)/jupytext --quiet --to ipynb examples/*/*.py

pictures: $(DEV) browser
	PYTHONPATH=. $(BIN)/python docs/pictures/draw.py
	IMPROVABLE_SCREENSHOTS=docs/pictures $(BIN)/pytest -q tests/browser/test_serve.py -k "sealed_report or plan"

dist: $(DEV)
	rm -rf dist
	$(BIN)/python -m build --quiet
	ls dist

# Whether a change made `compare` slower: beside last round's commit, a few seconds. AGAINST names another commit.
speed: $(DEV)
	$(BIN)/python benchmarks/speed.py $(if $(AGAINST),--against $(AGAINST)) $(if $(ROWS),--rows $(ROWS))

# Against peers, engines and sizes, written to docs/evidence/benchmarks.md: about a quarter of an hour.
bench: $(DEV)
	$(INSTALL) --editable ".[bench]"
	$(BIN)/python benchmarks/write_page.py

# Every rule on every data set at hand, written to docs/evidence/board.md: about half an hour. DATA is the folder of real data.
DATA ?= ../shared/data
board: $(DEV)
	$(INSTALL) --editable ".[bench]"
	$(BIN)/python benchmarks/board.py --data $(DATA)

# The three real cases decided, and their pages written: about ten minutes. A case whose data are not in DATA is left out.
cases: export OMP_NUM_THREADS = 1
cases: $(DEV)
	$(BIN)/python benchmarks/cases.py --data $(DATA)

$(MADE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	touch $@

$(RUNTIME): $(MADE)
	$(INSTALL) --editable .
	touch $@

$(DEV): $(MADE)
	$(INSTALL) --editable ".[dev]"
	touch $(RUNTIME) $@

# Spark is published as source alone, and half a gigabyte is packed into a wheel before it is installed.
$(SPARK): $(MADE)
	$(BIN)/pip wheel --quiet --no-deps --constraint constraints.txt --wheel-dir $(VENV)/wheels pyspark
	touch $@

$(ENGINES): $(DEV) $(SPARK)
	$(INSTALL) --find-links $(VENV)/wheels --editable ".[engines]"
	rm -r $(VENV)/wheels
	touch $@

clean:
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache

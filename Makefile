# Every target sets up what it needs in .venv; only Python >= 3.11 and make must be there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: test nightly longest damaged test-spark test-engines quick audit mutate check demo bench studies figures durability fuzz docs js js-all serve-demo clean

test: check  ## lint, types and all tests but the longest, on all processors
	$(BIN)/pytest -n auto --dist worksteal -m "not nightly"

nightly: longest damaged durability fuzz js-all audit  ## what is too long for every change; takes hours, with -j2 half as long

longest: .venv/dev  ## the longest tests
	$(BIN)/pytest -n auto --dist worksteal -m nightly

damaged: .venv/dev  ## 20 000 damaged files of each kind
	DENIABLE_DAMAGED_FILES=20000 $(BIN)/pytest -n 0 -s tests/test_damaged_files.py

test-spark: .venv/spark  ## counting on Spark, and its SQL; needs a Java, and installs pyspark (half a gigabyte)
	@java -version >/dev/null 2>&1 || { echo "Spark needs Java 17 or newer: apt-get install openjdk-17-jre-headless, or brew install openjdk@17"; exit 1; }
	DENIABLE_SPARK=1 $(BIN)/pytest -n 0 tests/spark

test-engines: .venv/spark  ## one process, Dask, Spark, duckdb and PostgreSQL count the same: 20 million reports; takes some minutes
	DENIABLE_SPARK=1 DENIABLE_ENGINE_REPORTS=20000000 $(BIN)/pytest -n 0 tests/spark/test_all_engines.py

quick: .venv/dev  ## the tests that are not slow, in less than a minute
	$(BIN)/pytest -n auto --dist worksteal -m "not slow and not nightly"

audit: .venv/dev  ## the black-box audit of every protocol with ten million reports an answer, in bulk; takes some minutes
	DENIABLE_AUDIT=10000000 $(BIN)/pytest -n 0 tests/collect/audit/test_audit.py

mutate: .venv/dev  ## small faults in a sample of the code that privacy and counts rest on: which ones no test notices
	$(BIN)/python -m tests.mutation

check: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

demo: .venv/report  ## every step on a made-up survey, ending in report.html
	@$(BIN)/deniable demo

serve-demo: .venv/dev  ## a survey is served, 1,000 made-up respondents answer it by the browser's client; results in serve-demo.html
	@$(BIN)/python examples/collector/serve_demo.py

bench: .venv/bench  ## speed, as ratios within one run
	$(BIN)/python -m benchmarks

studies: .venv/dev  ## how often intervals hold the truth, how far tables are from it; takes hours
	$(BIN)/python -m studies

figures: .venv/dev  ## the paper's figures, reproduced by simulation
	$(BIN)/deniable validate -o figures

durability: .venv/dev  ## a thousand kills, and power cuts; takes half an hour
	DENIABLE_KILLS=1000 DENIABLE_CUTS=400 $(BIN)/pytest tests/collect/test_serve.py tests/collect/test_durability.py

fuzz: .venv/dev  ## a hundred thousand requests by the collector's description, as many odd ones, and as many odd reports
	DENIABLE_CASES=100000 $(BIN)/pytest -n 0 -s tests/collect/test_fuzz.py

docs: .venv/dev  ## the site, in docs/_build/html; any warning is an error
	$(BIN)/sphinx-build -q -E -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser."

js: .venv/dev  ## the browser's client minified; its sizes, and the hash to pin it by
	@$(BIN)/python -m spec.make_javascript

js-all: .venv/dev  ## the browser's client against Python's: 10 000 cases for each protocol, in node and in Chromium
	DENIABLE_JS_CASES=10000 $(BIN)/pytest -n 0 tests/collect/test_web_client.py

# One stamp for each set of dependencies, renewed when pyproject.toml changes.
.venv/report: pyproject.toml | .venv/made
	$(BIN)/pip install --quiet --editable '.[report]'
	@touch $@

.venv/dev: pyproject.toml | .venv/made
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

.venv/spark: pyproject.toml | .venv/dev
	$(BIN)/pip install --quiet --editable '.[dev,spark]'
	@touch $@

.venv/bench: pyproject.toml | .venv/dev
	$(BIN)/pip install --quiet --editable '.[dev,bench]'
	@touch $@

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "deniable needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.12" % sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis docs/_build

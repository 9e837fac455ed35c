# Two commands matter: `make demo` runs the main job, `make test` the whole suite.
# Each sets itself up in .venv (with uv when it is there, else venv + pip) and byte-compiles what it installed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
WORKERS ?= 2
PACKAGE_SOURCES := pyproject.toml constraints.txt

.PHONY: demo test lint statistics bench audit fuzz clean

demo: $(VENV)/.core
	@$(BIN)/dither demo

test: $(VENV)/.test lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 20 --durations-min 3 -m "not long"

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

statistics: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) -m "long" tests/statistics tests/simulation tests/contracts

audit: $(VENV)/.test
	$(BIN)/dither audit --calls 4000000 --seed 1
	$(BIN)/dither audit pipeline --full --seed 1
	$(BIN)/python -m pytest -n $(WORKERS) -m "long" tests/statistics/test_audit_power.py tests/statistics/test_audit_floats.py

fuzz: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) -m "long" tests/properties

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

$(VENV)/.core: $(PACKAGE_SOURCES)
	@sh .ci/install "$(PYTHON)" "$(VENV)" "."
	@touch $@

$(VENV)/.test: $(PACKAGE_SOURCES)
	@sh .ci/install "$(PYTHON)" "$(VENV)" ".[test]"
	@touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# Everything a machine needs beyond Python 3.11 is installed by these rules, into .venv.

PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin

.PHONY: demo test check format bench clean

demo: .venv/installed  ## the demo suite on the CPU, about a minute, then a taste of all the others
	$(BIN)/stepmark run demo
	$(BIN)/stepmark run fragmented switchback transformer lora operations optimizer precision \
	  --preset quick --budget 90s

test: .venv/installed-dev  ## all checks and all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not process" -n 2
	$(BIN)/python -m pytest -m process

check: .venv/installed-dev  ## the inner loop: checks, and the tests that take little time
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not process and not long" -n 2

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev  ## stepmark measures itself: the figures in docs/speed.md
	$(BIN)/python -m benchmarks

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "stepmark needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	    echo "Name another: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

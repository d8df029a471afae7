# Everything a machine needs beyond Python 3.11 is installed by these rules, into .venv.

PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin
# Tests start hundreds of processes, each of which would compile the package anew where no bytecode is kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check format bench clean

demo: .venv/installed  ## the demo suite on the CPU, one to three minutes, then a taste of all the others
	$(BIN)/stepmark run demo --html stepmark-demo.html
	$(BIN)/stepmark run fragmented switchback transformer lora operations \
	  optimizer precision --preset quick --budget 90s --html stepmark-suites.html
	@echo "The demo's report: $(CURDIR)/stepmark-demo.html"
	@echo "The suites' report: $(CURDIR)/stepmark-suites.html"

test: .venv/installed-dev .venv/browser  ## all checks and all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not process or beside" -n 2 --dist worksteal
	$(BIN)/python -m pytest -m "process and not beside"

check: .venv/installed-dev  ## the inner loop: checks, and the tests that take little time
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not process and not long" -n 2 --dist worksteal

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

CHROMIUMS := chromium chromium-browser google-chrome google-chrome-stable chrome

.venv/browser: .venv/installed-dev  ## a Chromium for the tests of pages: the machine's own, Debian's in CI, else Playwright's
	@for name in $(CHROMIUMS); do command -v $$name > /dev/null && exec touch $@; done; \
	if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium; } \
	    > .venv/browser.log 2>&1 && exec touch $@; \
	fi; \
	$(BIN)/playwright install chromium-headless-shell > .venv/browser.log 2>&1 && touch $@ || \
	  echo "There is no Chromium here and none could be fetched (.venv/browser.log): the tests of pages are skipped."

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -prune -exec rm -rf {} +

# Two commands make everything work: `make run` and `make test`. Both set up .venv first; that happens once.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c '$(SUPPORTED)' 2>/dev/null && echo $$p && exit; done; echo python3)
VENV := .venv
PY := $(VENV)/bin/python
RUNS ?= runs
PORT ?= 5000
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: help setup run test slow lint mlflow clean
.DEFAULT_GOAL := help

help:
	@echo "make setup   install into $(VENV) (once; again when constraints.txt or pyproject.toml change)"
	@echo "make run     train a reward model on the embedded corpus"
	@echo "make test    fast tests"
	@echo "make slow    tests that take longer"
	@echo "make lint    ruff, mypy, import layers"
	@echo "make mlflow  look at recorded runs in the browser"
	@echo "make clean   remove caches and builds; runs and $(VENV) stay"

setup: $(VENV)/installed
	@:

$(VENV)/installed: constraints.txt pyproject.toml
	@"$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null || { \
		echo "setup: rmtrain needs Python 3.11 to 3.13, but '$(PYTHON)' is $$("$(PYTHON)" --version 2>/dev/null || echo absent)." >&2; \
		echo "setup: name another: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setup: making $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV)
	@echo "setup: installing about 180 packages (2 GB), which takes a few minutes"
	@$(VENV)/bin/pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e ".[dev,embedded]" \
		| awk '/^Collecting/ && ++n % 30 == 0 { print "setup: " n " packages fetched" } \
			/^Installing collected/ { print "setup: unpacking" } { fflush() }'
	@touch $@
	@echo "setup: done, $$($(PY) -c 'import rmtrain; print("rmtrain", rmtrain.__version__)')"

run: setup
	@$(PY) -m rmtrain

test: setup
	@$(PY) -m pytest -q -m "not slow and not benchmark"

slow: setup
	@$(PY) -m pytest -q -m "slow and not benchmark"

lint: setup
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports

mlflow: setup
	@mkdir -p "$(RUNS)"
	@echo "Open http://127.0.0.1:$(PORT)/#/experiments?workflowType=machine_learning (Ctrl-C stops the server)"
	@MLFLOW_DISABLE_TELEMETRY=true DO_NOT_TRACK=true PATH="$(CURDIR)/$(VENV)/bin:$$PATH" \
		$(VENV)/bin/mlflow server --host 127.0.0.1 --port $(PORT) --workers 1 \
		--backend-store-uri "sqlite:///$(abspath $(RUNS))/mlflow.db" --default-artifact-root "$(abspath $(RUNS))/mlartifacts"

clean:
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find rmtrain tests -name __pycache__ -type d -prune -exec rm -rf {} +

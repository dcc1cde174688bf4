# Two commands make everything work: `make run` and `make test`. Both set up .venv first; that happens once.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PY := $(VENV)/bin/python
RUNS ?= runs
PORT ?= 5000

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

$(VENV)/installed: constraints.txt pyproject.toml
	@"$(PYTHON)" -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else f"rmtrain needs Python 3.11 to 3.13, but {sys.executable} is {v[0]}.{v[1]}. Name another: make setup PYTHON=/path/to/python3.11")'
	@echo "setup: making $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV)
	@echo "setup: installing about 180 packages (2 GB), which takes a few minutes"
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,embedded]"
	@touch $@
	@echo "setup: done"

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
	@echo "Open http://127.0.0.1:$(PORT)/#/experiments?workflowType=machine_learning (Ctrl-C stops the server)"
	@MLFLOW_DISABLE_TELEMETRY=true DO_NOT_TRACK=true PATH="$(CURDIR)/$(VENV)/bin:$$PATH" \
		$(VENV)/bin/mlflow server --host 127.0.0.1 --port $(PORT) \
		--backend-store-uri "sqlite:///$(abspath $(RUNS))/mlflow.db" --default-artifact-root "$(abspath $(RUNS))/mlartifacts"

clean:
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find rmtrain tests -name __pycache__ -type d -prune -exec rm -rf {} +

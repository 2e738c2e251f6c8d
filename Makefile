# make demo   install and run the main job
# make test   install the test extras and run the whole suite in parallel
# make lint   format check, lint, types

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SEED ?= 0
DEMO_OUT ?= runs/demo
PYTEST_ARGS ?= -n auto --dist worksteal

.PHONY: demo test lint clean

demo: $(VENV)/.installed
	$(BIN)/sim2live demo --seed $(SEED) --out $(DEMO_OUT)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tests/typecheck.py

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "sim2live needs Python 3.11 or newer, this is %s.%s: make PYTHON=python3.12" % sys.version_info[:2]'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: setup.py constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info runs

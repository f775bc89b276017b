# Every target makes its own environment in .venv and installs what it needs there:
# Python 3.11 or newer is the only thing that must be present. Other interpreters:
#   make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test lint check bench docs dist clean

help:
	@echo "make demo    cluster a small data set and draw it (hardbayes-demo.png)"
	@echo "make test    run the tests"
	@echo "make lint    formatting, lint, types and import layers"
	@echo "make check   lint, then test"
	@echo "make bench   compare speed and quality with other libraries"
	@echo "make docs    build the documentation (docs/_build/html/index.html)"
	@echo "make dist    build the source distribution and the wheel"
	@echo "make clean   remove everything that make has made, .venv included"

demo: $(VENV)/.installed-plot
	@$(BIN)/hardbayes demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4

lint: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

# Warnings are errors: a link that leads nowhere, a docstring that does not parse, a failing example.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d docs/_build/doctrees docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

dist: $(VENV)/.installed-test
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) dist build hardbayes-demo.png hardbayes-demo.html
	rm -rf docs/_build docs/api docs/gallery docs/project
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .numba_cache
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# One stamp for each extra: installed again only when what it installs has changed.
$(VENV)/.installed-%: pyproject.toml src/hardbayes/_version.py | $(VENV)/.created
	@echo "Installing hardbayes[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hardbayes needs Python 3.11 or newer, and '$(PYTHON)' is not that." >&2; \
	  echo "Name another interpreter: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

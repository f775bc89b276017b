# Every target makes its own environment in .venv and installs what it needs there:
# Python 3.11 or newer is the only thing that must be present. Other interpreters:
#   make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The oldest Python and the oldest versions of everything else that hardbayes supports.
OLDEST_PYTHON ?= python3.11
OLDEST_VENV ?= .venv-oldest
IN_PARALLEL := --numprocesses auto --maxprocesses 4
# What `make quick` runs: what users call, on small data, and the literal algorithms of every model.
QUICK := tests/test_first_steps.py tests/test_docstrings.py tests/dp_means/test_literal.py \
  tests/features/test_literal.py tests/topics/test_literal.py tests/graph/test_estimator.py

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo quick test test-oldest test-faults coverage fix lint check bench docs pictures dist clean

help:
	@echo "make demo    cluster a small data set and draw it (hardbayes-demo.png)"
	@echo "make quick   run the tests of what users call, on small data: less than a minute"
	@echo "make test    run all tests"
	@echo "make fix     format the code, and mend what lint can mend"
	@echo "make lint    formatting, lint, types and import layers"
	@echo "make check   lint, then test"
	@echo "make coverage     run all tests, and print which lines they leave out"
	@echo "make test-oldest  run all tests with the oldest supported versions (TESTS=...: some)"
	@echo "make test-faults  run the tests of clusters whose workers and schedulers fail: some minutes"
	@echo "make bench   compare speed and quality with other libraries"
	@echo "make docs    build the documentation (docs/_build/html/index.html)"
	@echo "make pictures  draw the pictures of the documentation anew (docs/images)"
	@echo "make dist    build the source distribution and the wheel"
	@echo "make clean   remove everything that make has made, .venv included"

demo: $(VENV)/.installed-plot
	@$(BIN)/hardbayes demo

quick: $(VENV)/.installed-test
	$(BIN)/python -m pytest --quiet $(IN_PARALLEL) $(QUICK)

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(IN_PARALLEL) $(TESTS)

test-oldest:
	@$(MAKE) --no-print-directory test PYTHON=$(OLDEST_PYTHON) VENV=$(OLDEST_VENV) \
	  CONSTRAINTS=.ci/oldest.txt

test-faults: $(VENV)/.installed-test
	$(BIN)/python -m pytest -m faults tests/blocks

coverage: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(IN_PARALLEL) --cov --cov-report=term-missing $(TESTS)

fix: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --strict tests/typing/client.py
	$(BIN)/pyright --pythonpath $(BIN)/python tests/typing/client.py
	$(BIN)/lint-imports

check: lint test

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

# Warnings are errors: a link that leads nowhere, a docstring that does not parse, a failing example.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d docs/_build/doctrees docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Every example writes its picture into the folder that it runs in.
pictures: $(VENV)/.installed-docs
	@cd docs/images && for script in ../../examples/*.py; do $(abspath $(BIN))/python $$script || exit 1; done
	@$(BIN)/hardbayes demo -o docs/images/demo.png && rm docs/images/demo.html

dist: $(VENV)/.installed-test
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) $(OLDEST_VENV) dist build hardbayes-demo.png hardbayes-demo.html
	rm -rf docs/_build docs/api docs/gallery docs/project
	rm -rf .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .numba_cache
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# One stamp for each extra: installed again only when what it installs has changed.
$(VENV)/.installed-%: pyproject.toml src/hardbayes/_version.py $(CONSTRAINTS) | $(VENV)/.created
	@echo "Installing hardbayes[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable ".[$*]" $(addprefix --constraint ,$(CONSTRAINTS))
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hardbayes needs Python 3.11 or newer, and '$(PYTHON)' is not that." >&2; \
	  echo "Name another interpreter: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

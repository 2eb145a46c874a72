# Everything runs in .venv, which is created from constraints.txt; system packages are not touched.
# `make LOCKED=1 …` creates it from requirements.lock instead: every file is checked by its hash.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: .venv/run ## classify a real graph and show the result (a minute)
	$(BIN)/gssl demo

test: .venv/dev ## style, types, layers, tests and doctests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	# one OpenMP thread per process; reordering by scope size would start files with few long tests last
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

test-slow: .venv/dev ## the checks that take minutes
	$(BIN)/pytest -m slow

test-oldest: ## the fast tests of the methods with the oldest versions that pyproject.toml allows (10 minutes)
	$(PYTHON) scripts/oldest.py

dist: .venv/run ## wheel, source archive and SBOM, in dist
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python scripts/sbom.py > dist/gssl.cdx.json

lock: ## requirements.lock, after a change of constraints.txt
	$(PYTHON) scripts/lock.py

coverage: .venv/dev ## which lines the tests run, without the optional networks; fails below 95 % (15 minutes)
	$(BIN)/coverage erase
	# without the full_disk tests, in which coverage cannot write its data
	$(BIN)/coverage run -m pytest -q -n 2 --dist loadfile -m "not slow" -k "not full_disk"
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

bench: .venv/bench ## ratios against rivals and against the machine itself (20 minutes); ONLY=name for one
	$(BIN)/python -m benchmarks $(foreach name,$(ONLY),--only $(name))

fuzz: .venv/dev ## random input on the labelling page, journals, models and tables; SECONDS=600 by default
	$(BIN)/python scripts/fuzz.py --seconds $(or $(SECONDS),600)

paper: .venv/dev ## every table and figure of the paper: kept runs, and quick ones where there are none
	$(BIN)/python -m reproduction all --quick

paper-all: .venv/dev ## the same with ten seeds and the slow runs: many hours, and may be stopped and resumed
	$(BIN)/python -m reproduction all

docs: .venv/docs ## the manual, in docs/_build/html/index.html; its pages are run, warnings are errors (3 minutes)
	$(BIN)/pytest -q tests/docs
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html
	@echo "The manual: docs/_build/html/index.html"

clean: ## forget the environment and every cache
	rm -rf docs/_build docs/_static/sample docs/api docs/benchmarks.md docs/gallery docs/tutorials docs/sg_execution_times.rst
	rm -rf .venv .venv-oldest build dist .coverage* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# with LOCKED=1, exactly the files whose hashes are in requirements.lock
.venv/pip: pyproject.toml constraints.txt requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gssl needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
ifdef LOCKED
	$(INSTALL) --require-hashes --no-deps -r requirements.lock
	$(INSTALL) --no-build-isolation --no-deps -e .
	$(BIN)/python -m pip check
else
	$(INSTALL) -c constraints.txt hatchling editables
endif
	touch $@

.venv/run .venv/dev .venv/bench .venv/docs: EXTRA = $(@F)
.venv/run: EXTRA = report
.venv/run .venv/dev .venv/bench .venv/docs: .venv/pip
ifndef LOCKED
	$(INSTALL) --no-build-isolation -c constraints.txt -e '.[$(EXTRA)]'
endif
	touch $@

.PHONY: help run test test-slow test-oldest dist lock coverage bench fuzz paper paper-all docs clean

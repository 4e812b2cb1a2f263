# Larder. `make run`, `make test` and `make bench` do all their own set-up; the other targets use what `make test` installed.
.DEFAULT_GOAL := help
.PHONY: help run test test-python lint types schema contracts migrations-check advisories lock trust bench clean
BIN := .venv/bin
PARALLEL := -n auto --dist loadgroup --no-loadscope-reorder
PYTEST := $(BIN)/pytest $(PARALLEL)
# What depends on Python itself: what reads bytes, talks to child processes, starts and stops.
PYTHON_TESTS := tests/lib tests/modules tests/signing tests/site

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' Makefile

run: ## Run Larder on this machine (TLS=off: plain HTTP on the loopback address)
	@bin/prepare requirements.txt
	@$(if $(TLS),LARDER_TLS=$(TLS) )exec $(BIN)/python manage.py up --parent $$PPID

test: ## Run the whole suite on SQLite, and what a database decides on PostgreSQL as well
	@bin/prepare requirements-dev.txt
	@status=0; \
	echo "== tests on SQLite"; $(PYTEST) || status=1; \
	echo "== tests on PostgreSQL"; LARDER_TEST_DATABASE=postgres $(PYTEST) -m both || status=1; \
	exit $$status

test-python: ## Run a part of the suite on another Python (PYTHON=python3.14), on SQLite
	@LARDER_PYTHON=$(PYTHON) VENV=.venv-$(notdir $(PYTHON)) bin/prepare requirements-dev.txt
	@.venv-$(notdir $(PYTHON))/bin/pytest $(PARALLEL) $(PYTHON_TESTS)

lint: ## Check style and formatting
	@$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/djlint --quiet templates

types: ## Check types
	@$(BIN)/mypy

schema: ## Write the OpenAPI document of the API
	@DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -m tests.openapi

contracts: ## Check which part may import which
	@$(BIN)/lint-imports

migrations-check: ## Check that no migration is missing
	@$(BIN)/python manage.py makemigrations --check --dry-run

advisories: ## Look for known vulnerabilities of the pinned packages
	@$(BIN)/python bin/advisories.py

lock: ## Pin the dependencies of pyproject.toml again, with hashes
	@bin/lock

trust: ## Let this machine trust the certificate authority of `make run`
	@bin/trust

bench: ## Measure speed and memory; prints ratios
	@bin/prepare requirements-dev.txt
	@$(BIN)/python -m bench.run

clean: ## Remove the virtual environment and caches; your data in var/ stays
	@rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

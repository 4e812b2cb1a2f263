# Larder. `make run`, `make test` and `make bench` do all their own set-up; the other targets use what `make test` installed.
.DEFAULT_GOAL := help
.PHONY: help run test test-changed test-all nightly test-full test-python pictures docs lint types schema contracts migrations-check advisories lock trust bench chaos image push publish release clean
BIN := .venv/bin
PARALLEL := -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist loadgroup --no-loadscope-reorder
PYTEST := $(BIN)/pytest $(PARALLEL)
# What depends on Python itself: what reads bytes, talks to child processes, starts and stops. What a database decides does
# not, nor a whole Larder for each room: those marked `python` stand for starting, stopping, signing and a worker's end.
PYTHON_TESTS := tests/lib tests/modules tests/signing tests/site $(wildcard apps/contrib/*/tests/remote) -m "python or not (both or live or matrix)"
PYTHONS := python3.11 python3.12 python3.13 python3.14
# Whatever drives a whole Larder, but for what is about one machine: its start, its supervisor, its folders.
FULL_TESTS := tests/browser tests/e2e tests/flows tests/oci tests/signing $(wildcard $(foreach part,browser e2e,apps/contrib/*/tests/$(part)))
# What `make test` has. `make test-all` runs DAY on SQLite and BOTH on PostgreSQL: tables of every route run there alone.
QUICK := smoke or not (live or matrix or slow or nightly)
DAY := not (nightly or (matrix and both))
BOTH := both and not nightly
# By another name, for `make -n` runs what names $(MAKE).
AGAIN := $(MAKE) --no-print-directory
# The files that have a mark: every worker would read and sort all the others for nothing.
MARKED = $(shell grep -rlE --include='test_*.py' 'mark\.$(1)\b' tests apps/contrib)

# For bin/image, which says what they are.
export REGISTRY REQUIREMENTS SOURCE COSIGN_KEY

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' Makefile

run: ## Run Larder on this machine (TLS=off: plain HTTP on the loopback address)
	@bin/prepare requirements.txt
	@$(if $(TLS),LARDER_TLS=$(TLS) )exec $(BIN)/python manage.py up --parent $$PPID

test: ## Run in minutes what needs no whole Larder, and the smoke tests on one, on SQLite
	@bin/prepare requirements-dev.txt
	@$(PYTEST) -m "$(QUICK)"

test-changed: ## Run the tests that reach what changed since BASE=HEAD, for work in between
	@bin/prepare requirements-dev.txt
	@$(PYTEST) -m "$(QUICK)" $$($(BIN)/python -m tests.changed $(BASE))

test-all: ## Run all that CI runs: what `make test` has, whole Larders, browsers, matrices, PostgreSQL, the full stack
	@bin/prepare requirements-dev.txt
	@status=0; \
	echo "== SQLite"; $(PYTEST) -m "$(DAY)" || status=1; \
	echo "== PostgreSQL"; LARDER_TEST_DATABASE=postgres $(PYTEST) $(call MARKED,both) -m "$(BOTH)" || status=1; \
	echo "== the full stack"; $(AGAIN) test-full ONLY=full || status=1; \
	exit $$status

nightly: ## Run what takes an hour: crash points, races, slow clients, full disks, the full stack, other Pythons
	@bin/prepare requirements-dev.txt
	@status=0; \
	echo "== for the night"; $(PYTEST) -m "nightly or turns or (matrix and both)" || status=1; \
	echo "== on PostgreSQL"; LARDER_TEST_DATABASE=postgres $(PYTEST) $(call MARKED,both) -m "(nightly or turns) and both" || status=1; \
	echo "== the full stack"; $(AGAIN) test-full || status=1; \
	for python in $(PYTHONS); do \
		[ "$$($$python -V 2>&1)" != "$$($(BIN)/python -V)" ] || continue; \
		if $$python -c 'import venv, ensurepip, sqlite3' 2>/dev/null; then $(AGAIN) test-python PYTHON=$$python || status=1; \
		else echo "NOT TESTED on $$python: it is not here."; fi; \
	done; \
	exit $$status

test-full: ## Run clients, flows and browsers on PostgreSQL, Redis and S3 (ONLY=full: a few of each)
	@bin/prepare requirements-dev.txt
	@LARDER_TEST_STACK=full $(PYTEST) $(if $(ONLY),$(call MARKED,$(ONLY)),$(FULL_TESTS)) -m "live$(if $(ONLY), and $(ONLY))"

test-python: ## Run a part of the tests on another Python (PYTHON=python3.14), on SQLite
	@LARDER_PYTHON=$(PYTHON) VENV=.venv-$(notdir $(PYTHON)) bin/prepare requirements-dev.txt
	@.venv-$(notdir $(PYTHON))/bin/pytest $(PARALLEL) $(PYTHON_TESTS)

chaos: ## Break every part of the stack for a minute each, under load, and report (an hour; CHAOS_SOAK_SECONDS, CHAOS_REPORT)
	@bin/prepare requirements-dev.txt
	@CHAOS_SECONDS=60 CHAOS_SOAK_SECONDS=$(or $(CHAOS_SOAK_SECONDS),600) CHAOS_REPORT=$(or $(CHAOS_REPORT),var/chaos-report.txt) \
		$(BIN)/pytest -s $$($(BIN)/python -m tests.chaos.cases)

lint: ## Check style and formatting
	@$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/djlint --quiet templates apps/contrib

types: ## Check types
	@$(BIN)/mypy

schema: ## Write the OpenAPI document of the API, with examples that are sent for it
	@LARDER_RECORD_EXAMPLES=1 $(BIN)/pytest -q tests/house/test_examples.py -k each_example
	@DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -m tests.openapi

pictures: ## Take the screenshots of the README anew (needs Chromium)
	@bin/prepare requirements-dev.txt
	@$(BIN)/python -m tests.browser.pictures

docs: ## Build the documentation as a site, without the internet: site/<version> (SOURCE=https://… for links to the repository)
	@VENV=.venv-docs bin/prepare requirements-docs.txt
	@.venv-docs/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env -c bin/docs_site docs \
		site/$$(python3 registry_site/version.py)

contracts: ## Check which part may import which
	@$(BIN)/lint-imports

migrations-check: ## Check that no migration is missing
	@$(BIN)/python manage.py makemigrations --check --dry-run

advisories: ## Look for known vulnerabilities of the pinned packages; fails too if it could not check them all
	@$(BIN)/python bin/advisories.py

lock: ## Pin the dependencies of pyproject.toml again, with hashes
	@bin/lock

trust: ## Let this machine trust the certificate authority of `make run`
	@bin/trust

bench: ## Measure speed and memory; prints ratios
	@bin/prepare requirements-dev.txt
	@$(BIN)/python -m bench.run

image: ## Build the image of this commit for this machine (REGISTRY=registry.acme.example:5000/team)
	@bin/image build

push: ## Push what `make image` built, and print the digest to deploy
	@bin/image push

publish: ## Build for amd64 and arm64, push, and sign, with the chart; what the pipelines call for a tag
	@bin/image publish

release: ## Check that this commit may become a release, write its number and date, and tag it (VERSION=0.2.0)
	@bin/prepare requirements-dev.txt
	@$(BIN)/python bin/release.py "$(VERSION)"

clean: ## Remove the virtual environment and caches; your data in var/ stays
	@rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

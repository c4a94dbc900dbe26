# What a developer needs. `make demo` and `make test` set everything up in .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# Bytecode is written even where the caller's shell forbids it: without it every start is slow.
export PYTHONDONTWRITEBYTECODE :=
# uv finds packages where pip is told to look.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)

.PHONY: help setup demo test check format docs bench many channels test-user chaos boosters dialects fuzz test-wheel parity null coverage nine test-frameworks slow clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

setup: .venv/ready

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Assay needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --editable '.[openml]' --group dev
	@touch $@

demo: setup ## run a small real benchmark on the bundled suite
	$(BIN)/assay demo

test: setup ## run the tests, WORKERS (2) of them side by side
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: setup ## ruff, mypy, layer test, docs test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m pytest tests/test_layers.py tests/test_docs.py

format: setup ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: setup ## write the generated reference pages
	$(BIN)/python docs/generate.py

bench: setup ## measure the overheads that the docs promise
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.warm

many: setup ## status, resume and explain on a store of 100,000 finished jobs (ten minutes, 3 GB of disk)
	$(BIN)/python -m benchmarks.many_jobs

channels: setup ## do labels pass from one job to another? 20 repetitions of ten channels, both starts (half an hour)
	$(BIN)/python -m benchmarks.channels
	$(BIN)/python -m benchmarks.channels --start cold

test-user: setup ## for root: the tables of misbehaviour and cheating as an ordinary user (five minutes)
	$(BIN)/python -m benchmarks.as_user

parity: setup ## our baselines against the published ones (needs the reference data; an hour)
	$(BIN)/python -m benchmarks.parity

dialects: setup ## write 80 data sets in ten dialects and read them again (needs the reference data; an hour)
	$(BIN)/python -m benchmarks.dialects --write

test-wheel: setup ## the tests against the wheel, on Python 3.11 and 3.13 and with the lowest versions (an hour)
	$(BIN)/python -m benchmarks.wheel

chaos: setup ## 50 rounds of killing coordinator, supervisor, nursery or child, then resuming; 20 on an awkward executor
	$(BIN)/python -m benchmarks.chaos --rounds 50
	$(BIN)/python -m benchmarks.chaos --rounds 20 --on tests/runs/awkward.py:Awkward

fuzz: setup ## damage what is read: 2,000 mutations per reader, seed printed (half an hour)
	$(BIN)/python -m benchmarks.fuzz

null: setup ## do the tests keep their level? 1,000 suites in which all frameworks are equal (ten minutes)
	$(BIN)/python -m benchmarks.null
	$(BIN)/python -m benchmarks.trimming

coverage: setup ## do intervals hold the truth as often as they say? 200 simulated searches a setting, and real ones (five hours)
	$(BIN)/python -m benchmarks.coverage
	$(BIN)/python -m benchmarks.few_rows

boosters: setup ## do the boosters choose a good number of rounds? (needs the reference data; an hour, most of it CatBoost)
	$(BIN)/python -m benchmarks.boosters

nine: setup ## the paper's nine frameworks on three data sets (needs the reference data; two hours)
	$(BIN)/python -m benchmarks.nine

test-frameworks: setup ## install and check every framework in an empty cache (an hour)
	$(BIN)/python -m benchmarks.frameworks

slow: setup ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

clean: ## remove what was built
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

# Two commands on a fresh machine: make demo, make test. Each sets up all it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := $(wildcard native/*)
MEANING := $(addprefix tests/,model/test_awkward.py model/test_peers.py families docs/test_lectures.py scoring/test_leave_one_out.py)

.PHONY: demo test check bench fuzz format browser clean

demo: .venv/ready
	$(BIN)/python examples/demo.py
	$(BIN)/tally demo

test: .venv/ready
	$(BIN)/python -m pytest -n 2 -q
	TALLYBAYES_KERNELS=reference $(BIN)/python -m pytest -n 2 -q $(MEANING) -k "not many and not real_tables and not film"

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/interrogate -q src && echo "every public name is documented"

bench: .venv/ready
	$(BIN)/python -m bench
	$(BIN)/python -m bench.memory

fuzz: .venv/ready
	$(BIN)/python tests/kernels/fuzz_tokens.py 1000000

browser:  # for the tests of the report page; needs root on Debian or Ubuntu
	which chromium chromedriver || (apt-get update && apt-get install -y --no-install-recommends chromium chromium-driver)

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/ready: pyproject.toml CMakeLists.txt $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test,check,bench,demo,report]"
	touch $@

clean:
	rm -rf .venv build

# Two commands on a fresh machine: make demo, make test. Each sets up all it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := $(wildcard native/*)

.PHONY: demo test check bench format clean

demo: .venv/ready
	$(BIN)/python examples/demo.py

test: .venv/ready
	$(BIN)/python -m pytest -n 2 -q

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/interrogate -q src && echo "every public name is documented"

bench: .venv/ready
	$(BIN)/python -m bench

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/ready: pyproject.toml CMakeLists.txt $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test,check,bench,demo]"
	touch $@

clean:
	rm -rf .venv build

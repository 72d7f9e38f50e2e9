# Two commands on a fresh machine: make demo, make test. Each sets up all it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
comma := ,
NATIVE := $(wildcard native/*.cpp native/*/*)
CPP := $(filter %.cpp %.h,$(NATIVE))
MEANING := $(addprefix tests/,model/test_awkward.py model/test_peers.py families docs/test_lectures.py scoring/test_leave_one_out.py)

.PHONY: demo quick test check bench guard fuzz sanitize format browser clean

demo: .venv/ready
	$(BIN)/python examples/demo.py
	$(BIN)/tally demo

# Units and laws: ten examples of each law, no slow test (pyproject.toml has the markers), and not the folders where nearly
# every test starts processes, reads files of many formats or fits many models.
QUICK := $(addprefix tests/,arrays base explaining families kernels model state storage tally)
quick: .venv/ready
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -n 2 -q -m "not slow and not crash" $(QUICK)

test: .venv/ready
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q
	TALLYBAYES_KERNELS=reference $(BIN)/python -m pytest -n 2 -q $(MEANING) -k "not many and not real_tables and not film"

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/interrogate -q src && echo "every public name is documented"

# Beside all peers that can be installed, which takes about half an hour on two cores; make bench RECORD=--record puts the
# results into bench/results, docs and README. A part that lacks a peer leaves it out; one that fails does not stop the others.
BENCH_PARTS := $(patsubst bench/%.py,bench.%,$(wildcard $(addprefix bench/,small_batches.py cold_start.py tune_cost.py memory.py)))
bench: .venv/ready build/peers/ready
	$(BIN)/python -m bench --isa plain,avx2,avx512 $(RECORD)
	$(BIN)/python -m bench.growth $(RECORD)
	for part in $(BENCH_PARTS); do $(BIN)/python -m $$part || echo "$$part failed"; done

# What is slower than recorded on this kind of machine, beside scikit-learn and river; some minutes.
guard: .venv/ready
	mkdir -p build
	$(BIN)/python -m bench --systems scikit-learn,river --output build/measured-now.json
	$(BIN)/python -m bench.guard build/measured-now.json

build/peers/ready: pyproject.toml .venv/ready
	$(BIN)/python -m bench.install_peers
	touch $@

fuzz: .venv/ready
	$(BIN)/python tests/kernels/fuzz_tokens.py 1000000
	$(BIN)/python tests/kernels/fuzz_arguments.py 100000

# The native module with the sanitizers of GCC, built apart: address and undefined behaviour under the kernel, family and
# forgery tests; data races under threads that share kernels and a lexicon. Leaks are not looked for: Python keeps memory.
SANITIZED = TALLYBAYES_KERNELS=$$(echo $(CURDIR)/build/sanitize-$(1)/_native*.so) \
	LD_PRELOAD="$$(gcc -print-file-name=lib$(2).so) $$(gcc -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc
sanitize: build/sanitize-address/built build/sanitize-thread/built
	$(call SANITIZED,address,asan) ASAN_OPTIONS=detect_leaks=0:max_allocation_size_mb=4096 UBSAN_OPTIONS=print_stacktrace=1 HYPOTHESIS_PROFILE=sanitize \
		$(BIN)/python -m pytest -q -p no:cacheprovider tests/kernels tests/families tests/storage/test_forgery.py
	$(call SANITIZED,thread,tsan) TSAN_OPTIONS=halt_on_error=1 $(BIN)/python tests/kernels/share_between_threads.py

build/sanitize-%/built: .venv/ready
	$(BIN)/python -m pip install --quiet nanobind cmake
	$(BIN)/cmake -S . -B build/sanitize-$* -DCMAKE_BUILD_TYPE=Release \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DTALLYBAYES_SANITIZE=$*$(if $(filter address,$*),$(comma)undefined)
	$(BIN)/cmake --build build/sanitize-$* --parallel 2
	touch $@

browser:  # for the tests of the report and of the server's page; needs root on Debian or Ubuntu
	which chromium chromedriver || (apt-get update && apt-get install -y --no-install-recommends chromium chromium-driver)

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CPP)

.venv/ready: pyproject.toml CMakeLists.txt $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test,check,bench,demo,report]"
	@TALLYBAYES_KERNELS=native $(BIN)/python -c 'import tallybayes.kernels as k; exit(k.IMPLEMENTATION != "native")' || if command -v c++ > /dev/null; \
		then echo "error: the native kernels were not built: pip install -v --editable . shows why"; exit 1; \
		else echo "no C++ compiler: the slower NumPy kernels are used"; fi
	touch $@

clean:
	rm -rf .venv build

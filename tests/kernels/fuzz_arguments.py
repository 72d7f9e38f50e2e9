"""Changed arguments: does every kernel refuse them or answer, and does the reference do the same?

    python tests/kernels/fuzz_arguments.py               # one change of one argument at a time, all there are
    python tests/kernels/fuzz_arguments.py 100000        # and so many calls with two or three changes
    python tests/kernels/fuzz_arguments.py --call 4711   # one call, in this process

Calls run in child processes: a crash, or a call that does not end within _SECONDS of processor time, is a failure that
names the call, and the calls after it go on in another child. The exit code is 1 if a call failed. Both implementations
have to refuse a call or both to answer, with equal results, unless these are not defined (`UNDEFINED`). If the type of
an argument is changed, one may refuse what the other takes.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
from argument_mutations import SINGLES, Call, mutated_call

from tallybayes import kernels
from tallybayes.errors import DataError
from tallybayes.kernels import reference
from tallybayes.kernels.digits import integers

_SECONDS = 10  # of processor time; a call takes about a millisecond
_MEMORY = 8 << 30  # address space: a size that is too large is a MemoryError, on every machine
_SANITIZED = "LD_PRELOAD" in os.environ  # by the sanitizers, which reserve more memory than the limit
_NO_MEMORY = ("allocation-size-too-big", "out-of-memory")  # of the address sanitizer, in place of a MemoryError
_REFUSED = (DataError, TypeError, MemoryError, OverflowError)
_SUMS = ("sum_columns", "sum_groups", "sum_bags")


def outcome(module: Any, call: Call) -> Any:
    """What a kernel returns and leaves in its arguments, or the error with which it refuses them."""
    kernel, arguments = call.kernel, call.arguments()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # about conversions of complex numbers
            returned = getattr(module, kernel)(*arguments.values())
    except _REFUSED as error:
        return error
    except (ValueError, IndexError, AttributeError, ZeroDivisionError) as error:
        if module is reference and (call.is_undefined or call.changes_layout):
            return error  # it leaves most types to NumPy
        raise
    if kernel in _SUMS:
        returned = [value_of(part) for part in (returned if kernel == "sum_columns" else [returned])]
    return returned, [value for value in arguments.values() if isinstance(value, np.ndarray)]


def value_of(part: Any) -> Any:
    """The value of a sum: how many digits it has is not defined."""
    return integers(part[0]) * Fraction(2) ** (32 * part[1]) if isinstance(part, tuple) else part


def agree(a: Any, b: Any) -> bool:
    """Whether two results are equal: integers exactly, reals to rounding, NaN as NaN."""
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(agree, a, b))
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return a.shape == b.shape and np.allclose(a, b, rtol=1e-7, atol=1e-7, equal_nan=True)
    return bool(np.array_equal(a, b))


def problem(i: int) -> str:
    """How native and reference differ about a call; nothing if they do not."""
    call = mutated_call(i)
    native = outcome(kernels.active, call)
    if _SANITIZED:  # which look at the native side; the reference may take any memory without the limit
        return ""
    plain = outcome(reference, call)
    refusals = [isinstance(result, Exception) for result in (native, plain)]
    if all(refusals) or (any(refusals) and call.is_undefined):
        return ""
    if isinstance(native, MemoryError):  # the reference may need less
        return ""
    if any(refusals):
        if call.changes_layout and isinstance(native, TypeError):
            return ""
        name, error = ("native", native) if refusals[0] else ("the reference", plain)
        return f"{call}: only {name} refuses it: {error!r}"
    return "" if call.is_undefined or agree(native, plain) else f"{call}: different results"


def run_calls(calls: list[int]) -> None:
    """In the child: write the number of every call before it is made, and what is wrong with it after it."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    if not _SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for i in calls:
        signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
        print(i, flush=True)
        try:
            found = problem(i)
        except Exception as error:
            found = f"{mutated_call(i)}: {type(error).__name__}: {error}"
        if found:
            print(found, flush=True)


def failures(calls: list[int]) -> list[str]:
    """What is wrong with some calls, made in child processes."""
    found: list[str] = []
    while calls:
        child = subprocess.run(
            [sys.executable, __file__, "--child"], input=" ".join(map(str, calls)), text=True, capture_output=True
        )
        lines = child.stdout.splitlines()
        found += [line for line in lines if line.startswith("call ")]
        if child.returncode == 0:
            break
        last = next((int(line) for line in reversed(lines) if line.isdecimal()), None)
        if last is None:
            raise RuntimeError(child.stderr)
        calls = calls[calls.index(last) + 1 :]
        if any(reason in child.stderr for reason in _NO_MEMORY):
            continue
        ending = signal.Signals(-child.returncode).name if child.returncode < 0 else f"exit code {child.returncode}"
        found.append(f"{mutated_call(last)}: {ending} {child.stderr[-2000:]}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("combined", type=int, nargs="?", default=0)
    parser.add_argument("--call", type=int)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_calls([int(i) for i in sys.stdin.read().split()])
        return 0
    if options.call is not None:
        print(problem(options.call) or f"{mutated_call(options.call)}: agreed")
        return 0
    n = len(SINGLES) + options.combined
    found = failures(list(range(n)))
    print("\n".join([*found, f"{n:,} calls, {len(found)} failed"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

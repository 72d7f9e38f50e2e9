"""Files in: the time and memory of fitting and scoring a large file, beside DuckDB reading it and doing nothing.

Run as `python -m bench.files` (some minutes, 1.5 GB of disk). The table has 5 million rows of 12 mixed columns, made up
by DuckDB in a temporary folder; each figure is taken in a process of its own, the best of a few rounds, and the rounds
of reading and fitting alternate. Fitting may take 1 s plus 1.5 times as long as reading, and 700 MB in all.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = """
SELECT CASE WHEN random() < 0.3 THEN 'yes' ELSE 'no' END AS label,
    random() * 100 AS r1, round(random() * 1000, 2) AS r2, ln(random() + 1e-9) AS r3,
    (random() * 80)::INT AS age, (random() * 10)::INT AS small,
    random() < 0.5 AS flag, (random() < 0.2)::INT AS zero_one,
    ['red', 'green', 'blue', 'black', 'white'][1 + (random() * 4)::INT] AS colour,
    'city' || (random() * 300)::INT AS city,
    ['Action|War', 'Comedy', 'Drama|Family', 'Action|Sci-Fi', 'War|Drama|History'][1 + (random() * 4)::INT] AS genre,
    CASE WHEN random() < 0.1 THEN NULL ELSE (random() * 1e6)::INT END AS income
FROM range({rows})
"""
START = (
    "import sys, time, duckdb, pyarrow; import tallybayes as tb; path, model = sys.argv[1:]; t = time.perf_counter(); "
)
END = "; print(time.perf_counter() - t, next(line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line))"
WORK = {
    "read": "c = duckdb.connect(); c.execute('SET enable_progress_bar = false'); "
    "n = sum(b.num_rows for b in c.sql(f\"SELECT * FROM '{path}'\").to_arrow_reader(131072))",
    "fit": "tb.fit(path, label='label').save(model)",
    "score": "n = sum(len(s) for _, s in tb.load(model).snapshot().log_proba_batches(path))",
}


def run(what: str, path: Path, model: Path) -> tuple[float, float]:
    """Seconds and megabytes of one piece of work, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", START + WORK[what] + END, str(path), str(model)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, kilobytes = map(float, done.stdout.split())
    return seconds, kilobytes / 1024


def command(path: Path, model: Path) -> float:
    """Seconds of the whole command `tally fit`, from its start to its end."""
    code = "import subprocess, sys, time; t = time.perf_counter(); subprocess.run(sys.argv[1:], check=True, "
    code += "stdout=subprocess.DEVNULL); print(time.perf_counter() - t)"
    tally = [sys.executable, "-m", "tallybayes.cli.main", "fit", str(path), "--label", "label", "-o", str(model)]
    return float(
        subprocess.run([sys.executable, "-c", code, *tally], capture_output=True, text=True, check=True).stdout
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    import duckdb

    results: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE t AS {TABLE.format(rows=given.rows)}")
        for kind, options in {"csv": "HEADER", "parquet": "FORMAT parquet", "jsonl": "FORMAT json"}.items():
            path, model = Path(folder) / f"data.{kind}", Path(folder) / "data.tally"
            connection.execute(f"COPY t TO '{path}' ({options})")
            rounds = [{what: run(what, path, model) for what in WORK} for _ in range(given.rounds)]
            best = {what: min(round[what][0] for round in rounds) for what in WORK}
            peak = {what: max(round[what][1] for round in rounds) for what in WORK}
            whole = min(command(path, model) for _ in range(given.rounds))
            allowed = 1 + 1.5 * best["read"]
            size = round(path.stat().st_size / 1e6)
            seconds = [best["read"], best["fit"], allowed, whole, best["score"]]
            results.append([kind, size, *seconds, round(peak["fit"]), round(peak["score"])])
            path.unlink()
    head = ["file", "MB", "read s", "fit s", "allowed s", "tally fit s", "score s", "fit MB", "score MB"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in results:
        print("| " + " | ".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row) + " |")


if __name__ == "__main__":
    main()

"""The live server under load beside MLflow's scoring server and a plain FastAPI + scikit-learn service.

    python -m bench.serve [--seconds 5] [--connections 16] [--mlflow PYTHON] [--replay 1000000]

The same rows, the same kind of model, one process each, on this machine, one after the other; the load comes from wrk
(apt-get install wrk). Single-row predictions; learns acknowledged by the durable log, single and in bulk; predictions
while the server learns as fast as it can; the time to start with a log of many events. MLflow wants its own packages:
give the Python of an environment with mlflow and scikit-learn. Read ratios, not requests per second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import tallybayes as tb
from bench.work import mixed
from tallybayes.client import Client

ROWS, COLUMNS = 20_000, 12
BULK = 20_000  # rows of one request
PIPELINE = """
import joblib, json, pandas as pd, uvicorn
from fastapi import FastAPI, Request
app, model = FastAPI(), joblib.load({path!r})

@app.post("/predict")
async def predict(request: Request) -> dict:
    rows = (await request.json())["rows"]
    found = model.predict_proba(pd.DataFrame(rows, columns=model.feature_names_in_))
    return {{"predictions": model.classes_[found.argmax(axis=1)].tolist(), "probabilities": found.tolist()}}

uvicorn.run(app, host="127.0.0.1", port={port}, log_level="error")
"""
MLFLOW = """
import joblib, mlflow, sys
mlflow.sklearn.save_model(joblib.load(sys.argv[1]), sys.argv[2], serialization_format="cloudpickle")
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], url: str, seconds: float = 120.0) -> Iterator[None]:
    """A server, from when it answers; programs beside its own are found first."""
    environment = os.environ | {"PATH": f"{Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=messages, env=environment)
        try:
            deadline = time.monotonic() + seconds
            while True:
                with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    messages.seek(0)
                    raise SystemExit(f"{command[0]} did not start: {messages.read()[-2000:].decode()}")
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


def load(
    url: str, body: Any, asked: argparse.Namespace, folder: Path, connections: int | None = None
) -> dict[str, float]:
    """Requests per second, and the median and 99th percentile of the time to an answer, in ms."""
    script = folder / f"{time.monotonic_ns()}.lua"
    text = json.dumps(body).replace("\\", "\\\\").replace("'", "\\'")
    script.write_text(f"wrk.method = 'POST'\nwrk.body = '{text}'\nwrk.headers['Content-Type'] = 'application/json'\n")
    n = connections or asked.connections
    command = ["wrk", "-t1", f"-c{n}", f"-d{asked.seconds}s", "--latency", "-s", str(script), url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    if refused:
        raise SystemExit(f"{url}: {refused[1]} requests were refused\n{said}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate is not None, said
    return {"rate": float(rate[1]), "p50": _milliseconds(said, "50%"), "p99": _milliseconds(said, "99%")}


def _milliseconds(said: str, percentile: str) -> float:
    found = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s)", said)
    assert found is not None, said
    return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]]


def shown(what: str, found: dict[str, float]) -> None:
    print(f"{what:<52} {found['rate']:9.0f} /s   p50 {found['p50']:8.2f} ms   p99 {found['p99']:8.2f} ms", flush=True)


def bulk_rate(url: str, rows: list[dict[str, Any]], seconds: float) -> float:
    """Rows learned per second in large requests, by two clients."""
    import pyarrow as pa

    table = pa.Table.from_pylist((rows * (BULK // len(rows) + 1))[:BULK])
    deadline = time.monotonic() + seconds

    def learn(_: int) -> int:
        client, n = Client(url), 0
        while time.monotonic() < deadline:
            client.learn(table)
            n += BULK
        return n

    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        learned = sum(pool.map(learn, range(2)))
    return learned / (time.monotonic() - began)


def ours(asked: argparse.Namespace, folder: Path, rows: list[dict[str, Any]], labels: list[str]) -> dict[str, float]:
    """Everything about the server of this library; the figures of its single-row predictions."""
    tb.fit([row | {"label": label} for row, label in zip(rows, labels, strict=True)], label="label").save(
        folder / "m.tally"
    )
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    tally = [sys.executable, "-m", "tallybayes.cli.main", "serve", str(folder / "m.tally")]
    with running([*tally, "--port", str(port), "--log-level", "error", "--concurrency", "512"], f"{url}/health/ready"):
        predict, learn = f"{url}/v1/models/m/predict", f"{url}/v1/models/m/learn"
        at_rest = load(predict, {"rows": rows[:1]}, asked, folder)
        shown("tallybayes: predict a row", at_rest)
        labelled = {"rows": [rows[0] | {"label": labels[0]}]}
        shown("tallybayes: learn a row, durably, 64 connections", load(learn, labelled, asked, folder, 64))
        few = load(predict, {"rows": rows[:1]}, asked, folder, 4)
        shown("tallybayes: predict a row, 4 connections, at rest", few)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(load, learn, labelled, asked, folder, 64)
            shown(
                "tallybayes: the same while 64 connections learn", load(predict, {"rows": rows[:1]}, asked, folder, 4)
            )
            other.result()
        many = [row | {"label": label} for row, label in zip(rows[:2000], labels, strict=False)]
        print(f"{'tallybayes: learn in bulk, durably':<52} {bulk_rate(url, many, asked.seconds):9.0f} rows/s")
    return at_rest


def replayed(asked: argparse.Namespace, folder: Path, rows: list[dict[str, Any]], labels: list[str]) -> None:
    """The time to open a model whose log has many single-row events and no snapshot."""
    from tallybayes.server.live.change_request import ChangeRequest
    from tallybayes.server.live.live_model import LiveModel

    path = folder / "log.tally"
    tb.fit([row | {"label": label} for row, label in zip(rows, labels, strict=True)], label="label").save(path)
    requests = [
        ChangeRequest.of_rows("learn", [row | {"label": label}]) for row, label in zip(rows, labels, strict=True)
    ]
    with LiveModel.open(path) as live:
        left = asked.replay
        while left > 0:
            waiting = [live.submit(request) for request in requests[: min(left, 5000)]]
            for one in waiting:
                one.result()
            left -= len(waiting)
    for snapshot in folder.glob("log.snapshot*"):
        snapshot.unlink()
    began = time.monotonic()
    with LiveModel.open(path) as live:
        took = time.monotonic() - began
        print(
            f"{'tallybayes: start with this many events to replay':<52} {live.log.last_id:9,}      {took:.1f} s",
            flush=True,
        )


def sklearn_service(asked: argparse.Namespace, folder: Path, rows: list[dict[str, Any]]) -> dict[str, float]:
    port = free_port()
    code = PIPELINE.format(path=str(folder / "pipeline.joblib"), port=port)
    with running([sys.executable, "-c", code], f"http://127.0.0.1:{port}/docs"):
        return load(f"http://127.0.0.1:{port}/predict", {"rows": rows[:1]}, asked, folder)


def mlflow_service(asked: argparse.Namespace, folder: Path, rows: list[dict[str, Any]]) -> dict[str, float]:
    port, saved = free_port(), folder / "mlflow"
    subprocess.run(
        [asked.mlflow, "-c", MLFLOW, str(folder / "pipeline.joblib"), str(saved)], check=True, capture_output=True
    )
    command = [asked.mlflow, "-m", "mlflow", "models", "serve", "-m", str(saved), "--env-manager", "local"]
    with running([*command, "--host", "127.0.0.1", "--port", str(port)], f"http://127.0.0.1:{port}/ping"):
        return load(f"http://127.0.0.1:{port}/invocations", {"dataframe_records": rows[:1]}, asked, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5, help="of every load")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--mlflow", metavar="PYTHON", help="the Python of an environment with mlflow and scikit-learn")
    parser.add_argument("--replay", type=int, default=0, metavar="EVENTS")
    asked = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("expected the load generator wrk: apt-get install wrk")
    X, y = mixed(np.random.default_rng(0), ROWS, 2, COLUMNS)
    labels = [("no", "yes")[c] for c in y.tolist()]
    rows = json.loads(X.to_json(orient="records"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fit_pipeline(X, labels, folder / "pipeline.joblib")
        mine = ours(asked, folder, rows, labels)
        peers = {"FastAPI + scikit-learn": sklearn_service(asked, folder, rows)}
        if asked.mlflow:
            peers["MLflow"] = mlflow_service(asked, folder, rows)
        for name, found in peers.items():
            shown(f"{name}: predict a row", found)
            print(
                f"    ours: {mine['rate'] / found['rate']:.1f} x the requests, p99 {mine['p99'] / found['p99']:.2f} x"
            )
        if asked.replay:
            replayed(asked, folder, rows, labels)


def fit_pipeline(X: Any, labels: list[str], path: Path) -> None:
    import joblib
    from sklearn.naive_bayes import GaussianNB

    from bench.systems.sklearn_bayes import table_pipeline

    joblib.dump(table_pipeline(GaussianNB()).fit(X, np.array(labels)), path)


if __name__ == "__main__":
    main()

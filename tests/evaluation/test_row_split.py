"""Data divided into parts: every row once, classes in their shares, groups whole, times in order."""

import datetime
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, reject
from hypothesis import strategies as st

import tallybayes as tb
from command_line import fine, tally
from tallybayes.errors import DataError, ParameterError

N = 200
RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "number": np.arange(N),
        "y": RNG.choice(["a", "b", "c", None], N, p=[0.6, 0.2, 0.1, 0.1]),
        "who": RNG.integers(0, 25, N),
        "when": [datetime.date(2024, 1, 1) + datetime.timedelta(int(d)) for d in RNG.integers(0, 90, N)],
    }
)
shares = st.lists(st.integers(1, 100), min_size=1, max_size=5).map(lambda parts: [p / sum(parts) for p in parts])


def numbers(part):
    return [row["number"] for row in part]


@given(
    labels=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=60),
    groups=st.lists(st.integers(0, 6), min_size=60, max_size=60),
    parts=shares,
    seed=st.integers(0, 5),
    by=st.sampled_from(["", "label", "group", "label and group", "time"]),
)
def test_the_parts_have_every_row_once_in_order(labels, groups, parts, seed, by):
    rows = [{"number": i, "y": y, "g": g} for i, (y, g) in enumerate(zip(labels, groups, strict=False))]
    options = {"label": "y" if "label" in by else None, "group": "g" if "group" in by else None}
    options |= {"time": "g"} if by == "time" else {}
    try:
        divided = tb.split(rows, parts=parts, seed=seed, **options)
    except DataError:
        reject()  # too few rows or groups for so many parts
    assert len(divided) == len(parts)
    assert all(numbers(part) == sorted(numbers(part)) and part for part in divided)
    assert sorted(number for part in divided for number in numbers(part)) == list(range(len(rows)))
    assert tb.split(rows, parts=parts, seed=seed, **options) == divided
    if by == "group":
        assert all(
            len({place for place, part in enumerate(divided) for row in part if row["g"] == g}) <= 1 for g in groups
        )
    if by == "time":
        ends = [(min(row["g"] for row in part), max(row["g"] for row in part)) for part in divided]
        assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))
    if by == "label":
        for key in set(labels):
            for share, part in zip(parts, divided, strict=True):
                assert abs(sum(row["y"] == key for row in part) - share * labels.count(key)) < 1 + 1e-6


def test_classes_and_parts_have_their_shares():
    divided = tb.split(ROWS, label="y")
    assert [len(part) for part in divided] == [120, 40, 40]
    for key in "abc":
        n = int((ROWS.y == key).sum())
        for share, part in zip((0.6, 0.2, 0.2), divided, strict=True):
            assert abs((part.y == key).sum() - share * n) < 1
    assert not tb.split(ROWS, label="y", seed=1)[2].equals(divided[2])


def test_what_rounding_takes_in_one_class_it_gives_in_another():
    """Classes of two rows each: 1.2, 0.4 and 0.4 of each are owed."""
    rows = [{"number": i, "y": str(i // 2)} for i in range(100)]
    assert [len(part) for part in tb.split(rows, label="y")] == pytest.approx([60, 20, 20], abs=2)


def test_groups_stay_together_and_classes_are_about_in_their_shares():
    divided = tb.split(ROWS, label="y", group="who")
    assert sum(part.who.nunique() for part in divided) == ROWS.who.nunique()
    assert [len(part) / N for part in divided] == pytest.approx([0.6, 0.2, 0.2], abs=0.05)
    assert [(part.y == "a").mean() for part in divided] == pytest.approx([0.6] * 3, abs=0.12)


def test_parts_by_time_and_by_arrays():
    first, last = tb.split(ROWS, parts=(70, 30), time="when")
    assert first.when.max() < last.when.min()
    again = tb.split(ROWS.drop(columns="when"), parts=(70, 30), time=ROWS.when.tolist())
    assert again[1].number.tolist() == last.number.tolist()
    assert list(again[0].columns) == ["number", "y", "who"]
    by_name = tb.split(ROWS, label="y", group="who")
    by_array = tb.split(ROWS, label=ROWS.y.tolist(), group=ROWS.who.to_numpy())
    assert all(a.equals(b) for a, b in zip(by_name, by_array, strict=True))


ARROW = pa.Table.from_pandas(ROWS)
KINDS = {
    "pandas": (ROWS, lambda part: part.number.tolist()),
    "polars": (pl.from_pandas(ROWS), lambda part: part["number"].to_list()),
    "arrow": (ARROW, lambda part: part["number"].to_pylist()),
    "batch": (ARROW.to_batches()[0], lambda part: part["number"].to_pylist()),
    "list": (ROWS.to_dict("records"), numbers),
    "dict": ({name: ROWS[name].tolist() for name in ROWS}, lambda part: part["number"]),
    "arrays": ({name: ROWS[name].to_numpy() for name in ROWS}, lambda part: part["number"].tolist()),
    "series": ({name: ROWS[name] for name in ROWS}, lambda part: part["number"].tolist()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_part_is_of_the_kind_of_the_data(kind):
    data, read = KINDS[kind]
    expected = [part.number.tolist() for part in tb.split(ROWS, label="y")]
    divided = tb.split(data, label="y")
    assert {type(part) for part in divided} == {type(data)}
    assert [read(part) for part in divided] == expected


def test_matrices_streams_and_views():
    matrix, labels = np.arange(40.0).reshape(20, 2), ["a", "b"] * 10
    first, _ = tb.split(matrix, labels, parts=(50, 50))
    assert isinstance(first, np.ndarray)
    assert first.shape == (10, 2)
    sparse, _ = tb.split(scipy.sparse.csr_matrix(matrix), labels, parts=(50, 50))
    assert np.array_equal(sparse.toarray(), first)
    whole = tb.split(ARROW, label="y")
    stream = tb.split(iter(ARROW.to_batches(max_chunksize=7)), label="y")
    assert [part.to_pylist() for part in stream] == [part.to_pylist() for part in whole]
    views = pa.table({"t": pa.array(["x", "y", "z", "w"], pa.string_view()), "n": [1, 2, 3, 4]})
    divided = tb.split(views, parts=(50, 50))
    assert {part.schema for part in divided} == {views.schema}


def test_a_file_gives_arrow_tables_that_fit_as_the_file_does(tmp_path):
    path = tmp_path / "t.csv"
    ROWS.assign(size=ROWS.number / 4).to_csv(path, sep=";", decimal=",", index=False)
    (whole,) = tb.split(path, parts=(1,))
    assert isinstance(whole, pa.Table)
    assert whole.schema.field("size").type == pa.float64()
    assert whole.schema.field("who").type == pa.int64()
    assert tb.fit(whole, label="y").class_counts == tb.fit(path, label="y").class_counts
    assert {name: str(spec.family) for name, spec in tb.fit(whole, label="y").schema.columns.items()} == {
        name: str(spec.family) for name, spec in tb.fit(path, label="y").schema.columns.items()
    }


def test_a_column_of_a_file_with_a_cell_that_is_no_number_is_text(tmp_path):
    lines = ["a,b,y", *(f"{i},{i % 2 == 0},u" for i in range(30_000)), "many,perhaps,v"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (whole,) = tb.split(tmp_path / "t.csv", parts=(100,))
    assert whole.num_rows == 30_001
    assert whole.slice(30_000).to_pylist() == [{"a": "many", "b": "perhaps", "y": "v"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": (60, 20)}, "parts that sum to 100 or to 1, got a sum of 80"),
        ({"parts": ()}, "at least one share"),
        ({"parts": (120, -20)}, "positive numbers, got -20"),
        ({"parts": (100, 0)}, "positive numbers, got 0"),
        ({"parts": (float("nan"), 1)}, "positive numbers, got nan"),
        ({"parts": (True, 99)}, "positive numbers, got True"),
        ({"parts": "60,40"}, "a share for each part"),
        ({"seed": -1}, "seed to be an integer"),
        ({"group": "who", "time": "when"}, "group or time, got both"),
        ({"group": "whom"}, "did you mean 'who'"),
        ({"label": "z"}, "the label column in the data"),
        ({"parts": (99.9, 0.1)}, "a row in each of 2 parts, got parts of 200, 0 rows"),
        ({"group": np.zeros(N)}, "at least 3 groups"),
        ({"label": ["a"]}, "200 values of the label"),
        ({"time": "y"}, "a time"),
    ],
)
def test_wrong_requests_are_errors(options, message):
    with pytest.raises((ParameterError, DataError), match=message):
        tb.split(ROWS, **options)


def test_the_command_writes_each_row_once_as_it_is(tmp_path):
    lines = ["name;size;y", *(f'"{i}, x";{i},5;{"ab"[i % 2]}' for i in range(20)), '"NA";;']
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    done = tally("split", "t.csv", "--label", "y", cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "wrote 4 rows to t-test.csv"
    written = [(tmp_path / f"t-{part}.csv").read_text().splitlines() for part in ("train", "validation", "test")]
    assert {part[0] for part in written} == {lines[0].replace('"', "")}
    cells = [line.replace('"', "") for line in lines[1:]]
    assert sorted(line.replace('"', "") for part in written for line in part[1:]) == sorted(cells)
    again = tally("split", "t.csv", cwd=tmp_path)
    assert (again.returncode, "new files to write, got 't-train.csv'" in again.stderr) == (1, True)
    fine("split", "t.csv", "--parts", ".5,.5", "-o", "a.parquet", "-o", "b.jsonl", cwd=tmp_path)
    sizes = pd.read_parquet(tmp_path / "a.parquet")["size"].tolist()
    sizes += [
        float(str(row).replace(",", ".")) for row in pd.read_json(tmp_path / "b.jsonl", lines=True)["size"].dropna()
    ]
    assert sorted(size for size in sizes if size == size) == [i + 0.5 for i in range(20)]


def test_the_command_and_the_library_agree(tmp_path):
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    files = ("-o", "a.csv", "-o", "b.csv", "-o", "c.csv", "--json")
    fine("split", "t.csv", "--label", "y", "--group", "who", "--seed", 3, *files, cwd=tmp_path)
    expected = tb.split(tmp_path / "t.csv", label="y", group="who", seed=3)
    found = [pd.read_csv(tmp_path / f"{name}.csv").number.tolist() for name in "abc"]
    assert found == [part["number"].to_pylist() for part in expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "x"], "--parts: numbers with commas between them"),
        (["--parts", "50,20"], "a sum of 70"),
        (["-o", "a.csv"], "-o FILE for each of 3 parts, got 1 file"),
        (["--parts", "50,50", "-o", "a.csv", "-o", "a.csv"], "another file for each part"),
        (["--parts", "50,50", "-o", "t.csv", "-o", "a.csv"], "an output file that is not an input"),
        (["--parts", "50,50", "-o", "a.docx", "-o", "a.csv"], "a file that ends in"),
        (["--parts", "50,50", "-o", "no/a.csv", "-o", "a.csv"], "a folder to write the part to"),
        (["--label", "yy"], "the label column in the data"),
    ],
)
def test_wrong_commands_write_nothing(tmp_path, arguments, message):
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    done = tally("split", "t.csv", *arguments, cwd=tmp_path)
    assert (done.returncode in (1, 2), message in done.stderr) == (True, True), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("seed", [0, 3])
def test_parts_do_not_depend_on_an_order_made_with_the_same_seed(seed):
    """Sorted rows that were shuffled by default_rng(seed): the first part would have had those that were first."""
    shuffled = np.random.default_rng(seed).permutation(1000)
    first, _ = tb.split({"i": shuffled}, parts=(50, 50), seed=seed)
    assert np.mean(first["i"]) == pytest.approx(500, abs=40)

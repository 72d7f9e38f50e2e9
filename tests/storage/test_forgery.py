"""Damaged and forged model files: an error, or a model that answers; never anything else."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from models import opened, resigned, signed, small, tiny, written
from tallybayes.errors import FileError
from tallybayes.model.saved_model import dumps, loads
from tallybayes.storage.container import FORMAT
from tallybayes.storage.content import assemble, serialise
from tallybayes.storage.keys import key_text

# Damage


def everything_but(data):
    yield from (data[:n] for n in range(len(data)))
    for flip in (0x01, 0xFF):
        for i in range(len(data)):
            yield data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :]
    yield from (data + b"\0", data + data, b"\0" + data)


@pytest.mark.parametrize("make", [tiny, written])
def test_a_file_cut_short_or_with_one_byte_changed_is_an_error(make):
    data = dumps(make())
    assert len(data) < 2500
    for damaged in everything_but(data):
        with pytest.raises(FileError, match=r"^a\.tally: \w"):
            loads(damaged, "a.tally")


@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_are_an_error(noise, with_start):
    start = dumps(tiny())[:60] if with_start else b""
    with pytest.raises(FileError):
        loads(start + noise)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "truncated: it has 0 bytes"),
        (b"PAR1" * 100, "not a model file"),
        (b'{"label": "y"}', "not a model file"),
        (dumps(tiny())[:40], "truncated: it has 40 bytes"),
        (dumps(tiny())[:-1], "checksum"),
        ((2**63).to_bytes(8, "little") + dumps(tiny())[8:], "a header of 9223372036854775808"),
    ],
)
def test_the_error_says_what_is_wrong(data, words):
    with pytest.raises(FileError, match=words):
        loads(data)


# Forgery: files whose checksum is right


def test_the_format_is_what_the_documents_say():
    data = dumps(small())
    header, tensors = opened(data)
    assert list(header)[:4] == ["sha256", "format", "library", "schema"]
    assert header["format"] == FORMAT
    assert header["library"] == tb.__version__
    assert signed(header, tensors) == data
    assert tensors["labels"].tobytes() == b"tptq"
    assert tensors["class_rows"].tolist() == [[1], [2]]
    assert {array.dtype.name for array in tensors.values()} == {"int64", "uint8"}


def set_fact(*path, to):
    def change(header, tensors):
        for name in path[:-1]:
            header = header[name]
        header[path[-1]] = to

    return change


def drop_fact(*path):
    def change(header, tensors):
        for name in path[:-1]:
            header = header[name]
        del header[path[-1]]

    return change


def set_array(name, array):
    def change(header, tensors):
        tensors[name] = np.array(array) if not callable(array) else array(tensors[name])

    return change


def add_key(name, text):
    """One more key, which sorts last."""

    def change(header, tensors):
        blob = tensors[name].tobytes() + text
        tensors[name] = np.frombuffer(blob, np.uint8)
        tensors[f"{name}.ends"] = np.append(tensors[f"{name}.ends"], len(blob))

    return change


BLOCKS = {  # the blocks of `small`, in the order of the names of their families
    "bernoulli": "block0",
    "categorical": "block1",
    "gaussian": "block2",
    "histogram": "block3",
    "multinomial": "block4",
    "presence": "block5",
    "poisson": "block6",
    "tags": "block7",
}
LIE = np.iinfo(np.int64)
FORGERIES = {
    "a newer format": (set_fact("format", to=FORMAT + 1), f"in format {FORMAT + 1} by a newer version"),
    "an unknown format": (set_fact("format", to=0), "an unknown format"),
    "a format of text": (set_fact("format", to=str(FORMAT)), "an unknown format"),
    "a format of yes": (set_fact("format", to=True), "an unknown format"),
    "no format": (drop_fact("format"), "an unknown format"),
    "a library of 3": (set_fact("library", to=3), "version of the library"),
    "an unknown fact": (set_fact("code", to="import os"), "got"),
    "no schema": (drop_fact("schema"), "expected"),
    "both kinds of model": (set_fact("written", to=True), "expected"),
    "skipped below 0": (set_fact("skipped", to=-1), "skipped rows"),
    "skipped by half": (set_fact("skipped", to=0.5), "skipped rows"),
    "skipped by 10**30": (set_fact("skipped", to=10**30), "skipped rows"),
    "an unknown field of the schema": (set_fact("schema", "model", to=1), "schema"),
    "a label of 3": (set_fact("schema", "label", to=3), "label"),
    "a schema that is a list": (set_fact("schema", to=[]), "schema"),
    "an unknown field of a column": (set_fact("schema", "columns", "flag", "code", to="x"), "expected"),
    "an unknown family": (set_fact("schema", "columns", "flag", "family", to="os:system"), "unknown family 'os'"),
    "a family with a bad option": (set_fact("schema", "columns", "real", "family", to="gaussian:kappa=-1"), "kappa"),
    "a family of 3": (set_fact("schema", "columns", "real", "family", to=3), "a family by its name"),
    "an unknown setting": (set_fact("settings", "speed", to=1), "got"),
    "a negative strength": (set_fact("settings", "smoothing", to=-1.0), "smoothing"),
    "a strength that is a list": (set_fact("settings", "smoothing", to=[1.0]), "smoothing"),
    "a strength of yes": (set_fact("settings", "smoothing", to=True), "smoothing"),
    "an endless strength": (set_fact("settings", "smoothing", to=10**400), "smoothing"),
    "a negative class weight": (set_fact("settings", "class_weight", to=[["tp", -1.0]]), "class_weight to be"),
    "a class weight without a number": (set_fact("settings", "class_weight", to=[["tp", 1]]), "class weights: no"),
    "a class weight without a pair": (set_fact("settings", "class_weight", to=[["tp"]]), "class weights: not a list"),
    "a class weight of a number": (set_fact("settings", "class_weight", to=7), "class weights: 7"),
    "a prior beyond 1": (set_fact("settings", "prior", to=[["tp", 0.5], ["tq", 0.75]]), "add up to 1"),
    "a prior that leaves labels out": (set_fact("settings", "prior", to=[["tp", 1.0]]), "labels without a prior"),
    "a prior that is an object": (set_fact("settings", "prior", to={"p": 1.0}), "a prior"),
    "a prior with a label twice": (set_fact("settings", "prior", to=[["tp", 0.5], ["tp", 0.5]]), "duplicate"),
    "a prior of labels that are no keys": (set_fact("settings", "prior", to=[["?", 1.0]]), "not a key"),
    "no blocks": (set_fact("total", "blocks", to={}), "not a list"),
    "one block less": (set_fact("total", "blocks", to=[]), "unexpected arrays"),
    "a block of 3": (set_fact("total", "blocks", 0, to=3), "expected"),
    "blocks out of order": (set_fact("total", "blocks", 0, "family", to="poisson"), "low|order|expected"),
    "a family that no column has": (set_fact("total", "blocks", 2, "family", to="gaussian:kappa=9.0"), "columns"),
    "a family that is not in its one form": (set_fact("total", "blocks", 2, "family", to="gaussian:kappa=3"), "order"),
    "a lowest digit of 0.5": (set_fact("total", "low", to=0.5), "lowest digit"),
    "a lowest digit of yes": (set_fact("total", "low", to=False), "lowest digit"),
    "digits far above": (set_fact("total", "low", to=129), "digits at places"),
    "digits far below": (set_fact("total", "low", to=-(10**9)), "digits at places"),
    "a stranger among the arrays": (set_array("block9.x", [1]), "unexpected arrays: .'block9.x'"),
    "labels out of order": (set_array("labels", np.frombuffer(b"tqtp", np.uint8)), "labels out of order"),
    "duplicate labels": (set_array("labels", np.frombuffer(b"tptp", np.uint8)), "duplicate labels"),
    "labels of two types": (set_array("labels", np.frombuffer(b"i1tp", np.uint8)), "labels of different types"),
    "labels that are None": (set_array("labels.ends", [1, 4]), "key"),
    "labels that are no text": (set_array("labels", np.frombuffer(b"tptq", np.int8)), "type int8|I8"),
    "labels that are not UTF-8": (set_array("labels", np.frombuffer(b"t\xfft\xff", np.uint8)), "utf-8"),
    "labels that end before they begin": (set_array("labels.ends", [4, 2]), "invalid ends"),
    "labels that end too late": (set_array("labels.ends", [2, LIE.max]), "invalid ends"),
    "labels in a matrix": (set_array("labels.ends", [[2, 4]]), "invalid ends|bounds|ambiguous|list"),
    "a label more than rows": (add_key("labels", b"tr"), "labels without rows"),
    "rows of reals": (set_array("class_rows", [[1.0], [2.0]]), "type float64"),
    "rows without digits": (set_array("class_rows", np.zeros((2, 0), np.int64)), "digits"),
    "rows in no shape": (set_array("class_rows", np.array(1)), "no digits|digits"),
    "rows below 0": (set_array("class_rows", [[1], [-2]]), "negative"),
    "a label without rows": (set_array("class_rows", [[1], [0]]), "labels without rows"),
    "fewer rows than values": (set_array("class_rows", [[1], [1]]), "more values than rows"),
    "digits that are not needed": (set_array("class_rows", [[1, 0], [2, 0]]), "not needed"),
    "digits beyond 32 bits": (set_array("class_rows", [[2**32, 0, 1], [0, 0, 0]]), "beyond 32 bits"),
    "a top digit beyond 32 bits": (set_array("class_rows", [[1, 2**40], [0, 0]]), "beyond 32 bits"),
    "rows beyond 64 bits": (set_array("class_rows", [[0, 0, 1], [1, 0, 0]]), "beyond 64 bits"),
    "columns out of range": (set_array("block2.columns", [1]), "columns"),
    "columns below 0": (set_array("block2.columns", [-1]), "columns"),
    "columns of nothing": (set_array("block2.columns", np.zeros(0, np.int64)), "no columns"),
    "columns in a matrix": (set_array("block2.columns", [[0]]), "no columns"),
    "counts below 0": (set_array("block0.no", [[[0], [-2]]]), "negative"),
    "sums of the wrong shape": (set_array("block2.n", [[[1]]]), "one sum for each"),
    "sums without rows": (set_array("block2.n", [[[0], [2]]]), "no rows have"),
    "a negative variance": (set_array("block2.xx", lambda xx: xx // 2), "no rows have"),
    "squares beyond the doubles": (set_fact("total", "blocks", 2, "low", "xx", to=100), "beyond those of doubles"),
    "events beyond 2**53": (set_fact("total", "blocks", 6, "low", "x", to=20), "beyond those of doubles"),
    "events below 0": (set_array("block6.x", [[[3], [-1]]]), "negative sums"),
    "a low for what is not there": (set_fact("total", "blocks", 2, "low", "y", to=0), "expected"),
    "no low": (drop_fact("total", "blocks", 2, "low", "xx"), "expected"),
    "a class out of range": (set_array("block1.classes", [2, 0]), "classes out of range"),
    "a class below 0": (set_array("block1.classes", [1, -1]), "classes out of range"),
    "a class twice": (set_array("block1.cell_ends", [0, 2]), "out of order|without a count"),
    "cells that end too late": (set_array("block1.cell_ends", [1, 3]), "ends out of range"),
    "cells that end too early": (set_array("block1.cell_ends", [1, 1]), "ends out of order"),
    "cells that end before they begin": (set_array("block1.cell_ends", [LIE.min, 2]), "ends out of range"),
    "keys that end in a matrix": (set_array("block1.key_ends", [[2]]), "one end for each part"),
    "a key without a count": (add_key("block1.keys", b"tz"), "ends|without a count|one end"),
    "a key that is no key": (set_array("block1.keys", lambda keys: keys ^ 1), "not a key"),
    "keys out of order": (set_array("block1.keys", np.frombuffer(b"tredtblu", np.uint8)), "invalid ends|keys in order"),
    "an amount of 0": (set_array("block1.amounts", [[2], [0]]), "without a count"),
    "an amount below 0": (set_array("block1.amounts", [[3], [-1]]), "negative"),
    "totals that are wrong": (set_array("block1.totals", [[[2], [1]]]), "totals"),
    "totals of another shape": (set_array("block1.totals", [[[1]], [[2]]]), "one total"),
    "a level out of range": (set_array("block3.levels", [55]), "levels out of range"),
    "a level below 0": (set_array("block3.levels", [-1]), "levels out of range"),
    "a cell out of range": (set_array("block3.cells", lambda cells: cells * 0 + LIE.max), "cells out of range"),
    "cells out of order": (set_array("block3.cells", lambda cells: cells[::-1].copy()), "cells out of order"),
    "cells of the wrong shape": (set_array("block3.cells", lambda cells: cells[:1]), "wrong shape"),
    "a length that is text": (set_array("block4.lengths.keys", np.frombuffer(b"i1t3", np.uint8)), "lengths of bags"),
    "a negative length of bags": (set_array("block5.lengths.keys", np.frombuffer(b"i-1", np.uint8)), "invalid ends"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_an_error(name):
    change, words = FORGERIES[name]
    header, tensors = opened(dumps(small()))
    change(header, tensors)
    with pytest.raises(FileError, match=rf"(?s)^a\.tally: .*({words})"):
        loads(signed(header, tensors), "a.tally")


@pytest.mark.parametrize("name", sorted(opened(dumps(small()))[1]))
def test_every_array_has_to_be_there_with_its_type_and_shape(name):
    header, tensors = opened(dumps(small()))
    for array in (
        None,
        tensors[name].astype(np.float32),
        tensors[name].astype(np.uint8),
        tensors[name][None],
        np.zeros((0, 10**15), np.int64),
        np.concatenate([tensors[name], tensors[name]]),
    ):
        changed = {k: v for k, v in tensors.items() if k != name} | ({} if array is None else {name: array})
        if array is None or array.dtype != tensors[name].dtype or array.shape != tensors[name].shape:
            with pytest.raises(FileError):
                loads(signed(header, changed))


@pytest.mark.parametrize(
    "text",
    [
        '{"sha256":"' + "0" * 64 + f'","format":{FORMAT},"format":{FORMAT}}}',
        '{"sha256":"' + "0" * 64 + '","a":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"sha256":"' + "0" * 64 + '","a":' + '{"a":' * 100_000,
        '{"sha256":"' + "0" * 64 + '","a":NaN}',
        '{"sha256":"' + "0" * 64 + '","a":1e999}',
        '{"sha256":"' + "0" * 64 + '","format":' + "9" * 5000 + "}",
        '{"sha256":"' + "0" * 64 + '","format":' + "9" * 4000 + "}",
        '{"sha256":"' + "0" * 64,
        '{"sha256":"' + "0" * 64 + '"}',
        '{"sha256":"' + "0" * 64 + '"} trailing',
    ],
)
def test_a_header_that_is_not_plain_json_is_an_error(text):
    with pytest.raises(FileError):
        loads(signed(text, {}))


def test_the_outer_header_is_checked_too():
    data = dumps(tiny())
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    for change in (
        lambda h: h["__metadata__"].update(more="x"),
        lambda h: h["class_rows"].update(shape=[2**62, 4]),
        lambda h: h["class_rows"].update(shape=[-1]),
        lambda h: h["class_rows"].update(data_offsets=[0, 2**60]),
        lambda h: h["class_rows"].update(data_offsets=[8, 0]),
        lambda h: h["class_rows"].update(dtype="pickle"),
        lambda h: h.update(extra={"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}),
        lambda h: h.update(class_rows=[]),
    ):
        changed = json.loads(json.dumps(header))
        change(changed)
        text = json.dumps(changed, separators=(",", ":")).encode()
        with pytest.raises(FileError):
            loads(resigned(len(text).to_bytes(8, "little") + text + body))


@pytest.mark.parametrize(
    "log_p",
    [
        [[0.0, 0.0]] * 2,
        [[np.nan, 0.0], [0.0, -np.inf]],
        [[np.inf, 0.0], [0.0, -np.inf]],
        [[0.0], [-np.inf]],
        [[-np.inf, -np.inf]] * 2,
    ],
)
def test_tables_that_are_written_down_are_checked(log_p):
    header, tensors = opened(dumps(tb.from_probabilities({"a": 0.5, "b": 0.5}, {"x": {"a": 0.1, "b": 0.2}})))
    with pytest.raises(FileError, match="column 'x'"):
        loads(signed(header, tensors | {"column0.log_p": np.array(log_p)}))
    header["settings"]["prior"] = "uniform"
    with pytest.raises(FileError, match="prior"):
        loads(signed(header, tensors))


def test_keys_that_are_chosen_to_make_dicts_slow_are_refused():
    keys = [k * (2**61 - 1) for k in range(3000)]
    model = tb.fit({"c": keys[:2], "y": [0, 0]}, label="y", families="categorical")
    header, tensors = opened(dumps(model))
    texts = [key_text(key).encode() for key in keys]
    tensors["block0.keys"] = np.frombuffer(b"".join(texts), np.uint8)
    tensors["block0.keys.ends"] = np.cumsum([len(text) for text in texts])
    with pytest.raises(FileError, match="same hash"):
        loads(signed(header, tensors))


FUZZED = [dumps(model) for model in (small(), small(sample_weight=[0.1, 0.2, 1 / 3]), small(smoothing=0))]
PROBE = [
    {"flag": True, "kind": "red", "real": 0.25, "level": 3.0, "events": 2, "genre": "x", "words": ["a"], "topics": []},
    {"flag": False, "kind": "green", "real": -1e300, "level": 1e300, "events": 0, "genre": "", "words": []},
]
NUMBERS = [0, 1, -1, 2, 3, 255, 2**31, 2**32 - 1, 2**32, 2**53, LIE.max, LIE.min]


def numbers_in(header, path=()):
    """The places of all numbers in the header."""
    items = header.items() if isinstance(header, dict) else enumerate(header) if isinstance(header, list) else ()
    for name, value in items:
        if isinstance(value, (int, float)):
            yield (*path, name)
        yield from numbers_in(value, (*path, name))


@pytest.mark.slow
@given(st.data())
@settings(max_examples=200)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::tallybayes.RuledOutWarning")
def test_a_forged_file_is_an_error_or_a_model_that_answers(data):
    header, tensors = opened(data.draw(st.sampled_from(FUZZED)))
    for _ in range(data.draw(st.integers(1, 3))):
        if data.draw(st.integers(0, 3)) == 0:
            *path, last = data.draw(st.sampled_from(list(numbers_in(header))))
            set_fact(*path, last, to=data.draw(st.sampled_from(NUMBERS) | st.integers(-130, 130) | st.floats(0, 9)))(
                header, tensors
            )
            continue
        name = data.draw(st.sampled_from(sorted(tensors)))
        flat = tensors[name].reshape(-1)
        if not len(flat):
            continue
        place = data.draw(st.integers(0, len(flat) - 1))
        here = int(flat[place])
        number = data.draw(st.sampled_from(NUMBERS) | st.integers(here - 5, here + 5))
        flat[place] = number & 0xFF if flat.dtype == np.uint8 else np.clip(number, LIE.min, LIE.max)
    try:
        forged = loads(signed(header, tensors))
    except FileError:
        return
    assert not np.isnan(forged.predict_proba(PROBE)).any()
    again = dumps(forged)
    assert dumps(loads(again)) == again


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": -1},
        {"rows": 2.0},
        {"weight": 0.0},
        {"weight": float("inf")},
        {"labelled_rows": -1.0},
        {"objective": ["a"]},
        {"objective": 3},
    ],
)
def test_forged_facts_about_unlabelled_rows_are_refused(changes):
    rows = {"x": ["a", "b"] * 10, "y": ["p", "q"] * 10}
    model = tb.fit(rows, "y", unlabelled={"x": ["a", "b", "b"]}, unlabelled_weight=1)
    facts, tensors = serialise(model.snapshot().state)
    assert assemble(facts, dict(tensors)).unlabelled.rows == 3
    forged = facts | {"unlabelled": facts["unlabelled"] | changes}
    with pytest.raises(ValueError, match=r"unlabelled|labelled|objective"):
        assemble(forged, dict(tensors))

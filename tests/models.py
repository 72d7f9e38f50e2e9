"""Models to save: every family, the smallest ones, one that is written down."""

import hashlib
import json
from dataclasses import replace

import safetensors.numpy

import tallybayes as tb
from tables import FAMILIES, LABEL
from tallybayes.model.saved_model import dumps, loads


def empty(**options):
    return tb.fit({name: [] for name in FAMILIES} | {LABEL: []}, label=LABEL, families=FAMILIES, **options)


def learned(table, weights=None, **options):
    model = empty(**options)
    if table:
        model.learn(table, sample_weight=weights)
    return model


def small(**options):
    """A model of every family whose file has about 7,000 bytes."""
    table = [
        {
            "flag": True,
            "kind": "red",
            "real": 0.5,
            "level": 2.0,
            "events": 3,
            "genre": "x|y",
            "words": ["a", "b", "a"],
            "topics": ["a"],
            "note": "cash cash",
            "hashed": "cash",
            LABEL: "p",
        },
        {
            "flag": False,
            "kind": "blue",
            "real": -0.1,
            "level": 4.0,
            "events": 0,
            "genre": "y",
            "words": ["b"],
            "topics": [],
            "note": "lunch cash",
            "hashed": "lunch",
            LABEL: "q",
        },
        {"flag": False, "kind": "blue", "real": 1e3, "level": -1.0, "events": 1, LABEL: "q"},
    ]
    return tb.fit(table, label=LABEL, families=FAMILIES, **options)


def tiny():
    """A model whose file has about 1,000 bytes."""
    return tb.fit({"x": [1.5, 2.0, -1.0], "y": ["a", "b", "b"]}, label="y", families="gaussian")


def written():
    tables = {"test": {1: {"+": 0.9, "-": 0.1}, 2: {"+": 1 / 3, "?": 2 / 3}}, "fever": {1: 0.25, 2: 1e-300}}
    return tb.from_probabilities({1: 0.1, 2: 0.9}, tables, label="ill")


def without_empty_columns(model):
    """The model without labels and columns that have no counts, which a file leaves out and `==` does not look at."""
    state = model.snapshot().state
    total = state.statistics.copy()
    total = total.aligned(total.in_use())
    used = {family: tally.arrays().features for family, tally in total.blocks.items()}
    total.blocks = {family: total.blocks[family].only(features) for family, features in used.items() if features}
    return tb.Model(replace(state, statistics=total))


def probe_of(table):
    return [{name: value for name, value in one.items() if name != LABEL} for one in table]


def assert_same_answers(one, other, probe):
    assert one.classes == other.classes
    assert [type(label) for label in one.classes] == [type(label) for label in other.classes]
    if one.classes:
        assert one.log_score(probe).tobytes() == other.log_score(probe).tobytes()
        assert one.predict_proba(probe).tobytes() == other.predict_proba(probe).tobytes()
    assert repr(one.describe().columns) == repr(other.describe().columns)
    assert repr(one.describe().classes) == repr(other.describe().classes)
    assert str(one.schema) == str(other.schema)


def round_trip(model):
    data = dumps(model)
    again = loads(data)
    assert dumps(again) == data
    assert (again.schema, again.settings, again.skipped) == (model.schema, model.settings, model.skipped)
    return again


def opened(data):
    """The header's text of JSON and the arrays of a file, read without the library's help."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["tallybayes"])
    return header, {name: array.copy() for name, array in safetensors.numpy.load(data).items()}


def signed(header, tensors):
    """The file of a header and arrays, with a checksum that is right."""
    text = header if isinstance(header, str) else json.dumps({**header, "sha256": "0" * 64}, separators=(",", ":"))
    return resigned(safetensors.numpy.save(tensors, {"tallybayes": text}))


def resigned(data):
    """The bytes with the checksum that they ask for."""
    place = data.index(rb"{\"sha256\":\"") + len(rb"{\"sha256\":\"")
    data = data[:place] + b"0" * 64 + data[place + 64 :]
    return data[:place] + hashlib.sha256(data).hexdigest().encode() + data[place + 64 :]

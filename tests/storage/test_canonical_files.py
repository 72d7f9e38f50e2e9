"""A model file is accepted only if the library would write it, byte for byte, the version of the library aside."""

import contextlib
import json
import random

import numpy as np
import pytest

import tallybayes as tb
from models import opened, signed, small, tiny, written
from tallybayes.errors import FileError, UnsupportedError
from tallybayes.model.saved_model import dumps, loads
from tallybayes.storage.container import FORMAT

LIE = np.iinfo(np.int64)
VALUES = [0, 1, 2, -1, 0.0, -0.0, 0.5, 1e100, True, None, "", "a", "tp", "inf", "poisson", [], {}]
NUMBERS = [0, 1, -1, 2, 255, 2**32, LIE.max, LIE.min]


def whole():
    """A model with an ordinal column, dates, texts, derived columns and fitted settings."""
    rng = np.random.default_rng(3)
    labels = [("p", "q")[i] for i in rng.integers(0, 2, 60)]
    table = {
        "size": rng.normal(size=60) + np.array([label == "p" for label in labels]),
        "day": [f"2024-01-{1 + i % 28:02}" for i in range(60)],
        "level": [("low", "mid", "high")[i % 3] for i in range(60)],
        "mail": ["cash now" if label == "p" else "lunch at noon" for label in labels],
        "y": labels,
    }
    one = tb.fit(table, label="y", dependence="one")
    model = tb.fit(table, label="y", families={"level": "ordinal:low<mid<high"}, ignore=["mail"])
    model.calibrate(table)
    return one, model


def places_in(value, path=()):
    """The places of all values in a header."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield (*path, name)
        yield from places_in(part, (*path, name))


def forge(header, tensors, rng):
    """Change one fact, the order of some, or one number."""
    if rng.random() < 0.4:
        flat = tensors[rng.choice(sorted(name for name in tensors if tensors[name].size))].reshape(-1)
        place = rng.randrange(len(flat))
        number = rng.choice([*NUMBERS, *(flat[place].item() + step for step in (-2, -1, 1, 2))])
        flat[place] = number & 0xFF if flat.dtype == np.uint8 else max(min(number, LIE.max), LIE.min)
        return
    *path, last = rng.choice([place for place in places_in(header) if place != ("library",)])
    inside = header
    for name in path:
        inside = inside[name]
    if rng.random() < 0.7:
        inside[last] = rng.choice(VALUES)
    elif isinstance(inside, dict):
        inside[f"{last}{rng.choice(['', ' '])}"] = inside.pop(last)
    else:
        rng.shuffle(inside)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::tallybayes.RuledOutWarning")
def test_a_file_is_accepted_only_if_saving_it_again_gives_the_same_bytes():
    """The checks of the parts of a file agree with their definition, the comparison of all bytes."""
    rng, n_accepted = random.Random(1), 0
    files = [dumps(model) for model in (small(), small(sample_weight=[0.1, 0.2, 1 / 3]), tiny(), written(), *whole())]
    for _ in range(1200):
        header, tensors = opened(rng.choice(files))
        forge(header, tensors, rng)
        try:
            data = signed(header, tensors)
            model = loads(data)
        except FileError:
            continue
        except ValueError as error:  # there is no checksum to put right
            assert "subsection not found" in str(error)  # noqa: PT017
            continue
        assert dumps(model) == data or header["format"] != FORMAT  # a file that is said to be old is converted
        n_accepted += 1
        assert str(model)
        with contextlib.suppress(UnsupportedError):  # scores that are not likelihoods
            model.sample(2, seed=0)
    assert n_accepted > 50


def test_a_file_of_another_version_is_accepted():
    header, tensors = opened(dumps(small()))
    assert loads(signed(header | {"library": "0.0.9"}, tensors)) == small()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header: header["settings"].update(smoothing=header["settings"].pop("smoothing")), "settings: not as"),
        (lambda header: header.update(schema=header.pop("schema")), "facts out of order"),
        (lambda header: header["settings"].update(prior_smoothing=-0.0), "settings: not as"),
        (lambda header: header["total"].update(low=header["total"].pop("low")), "total: not as"),
        (lambda header: header.update(format=header.pop("format")), "first, got"),
    ],
)
def test_a_file_that_the_library_would_write_in_another_form_is_an_error(change, words):
    header, tensors = opened(dumps(small()))
    change(header)
    with pytest.raises(FileError, match=words):
        loads(signed(header, tensors))


def test_a_header_with_other_spaces_is_an_error():
    header, tensors = opened(dumps(tiny()))
    text = json.dumps({**header, "sha256": "0" * 64}, separators=(",", ":"))
    with pytest.raises(FileError, match="not as this library writes it"):
        loads(signed(text.replace('"format":', '"format": '), tensors))


def test_an_input_of_a_derived_column_that_is_no_column_is_an_error():
    header, tensors = opened(dumps(whole()[0]))
    header["schema"]["columns"]["all columns"]["reader"]["inputs"][0]["column"] = "nothing"
    with pytest.raises(FileError, match="inputs that are not columns"):
        loads(signed(header, tensors))


def test_numbers_of_columns_whose_differences_overflow_are_an_error():
    table = {"a": [1.5, 2], "b": [1, 2.5], "c": [0.5, 1], "y": [0, 1]}
    header, tensors = opened(dumps(tb.fit(table, label="y", families="gaussian")))
    with pytest.raises(FileError, match="gaussian: columns"):
        loads(signed(header, tensors | {"block0.columns": np.array([0, 1, LIE.min])}))

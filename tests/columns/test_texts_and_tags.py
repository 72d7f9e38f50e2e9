"""Columns of text: messages and paragraphs are prose, lists are tags, phrases that repeat are categories."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from pets import csv_file
from tallybayes.cells.list_cell import are_lists, split_list
from tallybayes.columns.family_rules import propose
from tallybayes.columns.schema import Schema
from tallybayes.families import Histogram

NAMES = ["Ann Lee", "Bob Ray", "Cy Young", "Di Fox", "Ed Kay", "Flo Day", "Guy Orr", "Hal Ives", "Ida May", "Jo Pan"]


def family_of(values) -> str:
    family = propose("x", list(values), Histogram()).family
    return "none" if family is None else family.name


def messages(n_rows, n_distinct):
    texts = [f"Received block blk_{i} of size {67 * i} from /10.2.3.{i % 250}" for i in range(n_distinct)]
    return [texts[i % n_distinct] for i in range(n_rows)]


@pytest.mark.parametrize(("n_rows", "n_distinct"), [(2000, 2000), (2000, 699), (2000, 290), (500, 100)])
def test_log_messages_are_prose_also_if_they_repeat(n_rows, n_distinct):
    assert family_of(messages(n_rows, n_distinct)) == "text"


def test_paragraphs_that_repeat_are_prose():
    words = np.random.default_rng(0).integers(0, 500, (60, 80))
    paragraphs = [" ".join(f"word{w}" for w in row) for row in words]
    assert family_of(paragraphs * 5) == "text"


def test_short_messages_are_prose_and_no_identifiers():
    texts = [f"{text} {i}" for i in range(50) for text in ("opened session of", "closed session of", "generating core")]
    assert family_of(texts) == "text"
    assert family_of([f"the customer {i}" for i in range(150)]) == "none"


@pytest.mark.parametrize(
    "phrases",
    [
        ["very good", "good", "not so good at all", "a bit too expensive"] * 30,
        ["Adm-clerical", "Exec-managerial", "Handlers equip cleaners etc", "Machine op inspect"] * 30,
        [f"{job} of the {place} department" for job in ("head", "clerk") for place in "abcdefgh"] * 8,
        messages(2000, 46),
        [f"{a} {b} {c}" for a in "abcd" for b in "abcd" for c in "abcd"] * 5,
    ],
)
def test_phrases_that_repeat_are_categories(phrases):
    assert family_of(phrases) == "categorical"


def casts(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    people = [f"{first} {last}" for first in NAMES for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    return [", ".join(rng.choice(people, rng.integers(1, 9), replace=False)) for _ in range(n_rows)]


def test_lists_with_commas_are_tags_wherever_their_parts_stand():
    assert family_of(casts(300)) == "tags"
    countries = ["France", "India", "United States", "Ghana", *(f"Country {i}" for i in range(30))]
    rng = np.random.default_rng(1)
    cells = [", ".join(rng.choice(countries, 2, replace=False)) if i % 6 == 0 else "India" for i in range(2000)]
    assert family_of(cells) == "tags"


def test_names_whose_parts_repeat_are_no_tags():
    """14 last names and 6 first names, each in many rows; in lists of two, any value may be the first."""
    names = [f"{chr(65 + i * 5 % 14)}mith, {chr(65 + i * 7 % 6)}nn" for i in range(500)]
    labels = [*"abbaababba"] * 50
    labels = [labels[i * 37 % 499] for i in range(500)]
    model = tb.fit({"x": names, "y": labels}, label="y", column_weights=None)
    assert model.schema.families["x"].name == "categorical"
    genres = [f"g{i * 5 % 14}, g{i * 7 % 13}" for i in range(500)]
    assert tb.fit({"x": genres, "y": labels}, label="y", column_weights=None).schema.families["x"].name == "tags"


def test_names_and_places_with_commas_are_no_tags():
    rng = np.random.default_rng(0)
    first, last = ([f"{kind}{i}" for i in range(400)] for kind in ("First", "Last"))
    assert family_of(f"{rng.choice(last)}, {rng.choice(first)}" for _ in range(400)) != "tags"
    assert family_of(f"Town{rng.integers(300)}, {rng.choice(['NY', 'PA', 'Ohio'])}" for _ in range(400)) != "tags"


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ('["Wifi", "Kitchen"]', ["Wifi", "Kitchen"]),
        ("['email', 'phone']", ["email", "phone"]),
        ('{TV,"Cable TV"}', ["TV", "Cable TV"]),
        ("[1, 2]", ["1", "2"]),
        ('["Host\\u2019s place", "a, b"]', ["Host’s place", "a, b"]),
        ("""["Host's place", 'x']""", ["Host's place", "x"]),
        (r"['it\'s']", ["it's"]),
        ("[]", []),
        ("", []),
        ("['a' 'b']", ["a", "b"]),
    ],
)
def test_a_list_in_a_cell_is_read_without_brackets_and_quotes(cell, parts):
    assert split_list(cell) == parts


@given(st.lists(st.text(st.characters(blacklist_categories=("Cs",))).filter(lambda text: text.strip() == text != "")))
def test_what_python_and_json_write_is_read(parts):
    assert split_list(json.dumps(parts)) == parts


@given(st.text(max_size=20))
def test_any_text_can_be_split(text):
    assert all(split_list(text))
    assert are_lists([text]) in (True, False)


def test_lists_in_cells_are_tags_in_every_reader(tmp_path):
    rows = [("['email', 'phone']", "a"), ("['email']", "b"), ('["work, mail"]', "b"), ("[]", "a")] * 15
    lines = "".join('"' + cell.replace('"', '""') + f'",{y}\n' for cell, y in rows)
    model = tb.fit(csv_file("x,y\n" + lines), label="y")
    assert model.schema.columns["x"].reader.has_brackets
    parts = {"x": [split_list(cell) for cell, _ in rows], "y": [y for _, y in rows]}
    assert model.same_counts(tb.fit(parts, label="y", families={"x": "tags:,"}))
    given_family = tb.fit({"x": [cell for cell, _ in rows], "y": parts["y"]}, label="y", families={"x": "tags:,"})
    assert given_family.same_counts(model)
    model.schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json").columns["x"].reader.has_brackets
    model.save(tmp_path / "m.tally")
    model = tb.load(tmp_path / "m.tally")
    expected = model.predict_proba({"x": [["phone"]]})
    np.testing.assert_array_equal(model.predict_proba({"x": ['["phone"]']}), expected)
    np.testing.assert_array_equal(model.predict_proba({"x": ["phone"]}), expected)
    assert list(model.predict_proba_one({"x": "['phone']"}).values()) == expected[0].tolist()


@pytest.mark.parametrize("cells", [['{"a": 1}'], ['[{"id": 1}]'], ["[[1, 2]]"], ["(5)"], ["[1-2)"], ["[x]"], ["a, b"]])
def test_objects_nested_lists_and_ranges_are_no_lists(cells):
    assert not are_lists(cells * 20)

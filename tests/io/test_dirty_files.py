"""Small dirty files: what must be understood of each, and what must be said aloud."""

import csv
import re
import warnings
from pathlib import Path

import pytest

import tallybayes as tb
from tallybayes.errors import DataWarning

FOLDER = Path(__file__).parent / "dirty"
FILES = {  # the columns of each file: the family, and the first values where they are numbers; then the warnings
    "towns.csv": (
        {"population": ("histogram", [3015, 2285, 2391]), "mayor": ("categorical", None)},
        ["'population': '3,015' was read as 3015; it could be 3.015 as well\nhint: decimal=\",\" \\(--decimal ,\\)"],
    ),
    "umsatz.csv": (
        {
            "umsatz": ("histogram", [5355.5, 1533.5, 3675.5]),
            "stück": ("histogram", [1132, 494, 1707]),
            "rabatt": ("histogram", [3.5, 1.5, 9.5]),
        },
        [],
    ),
    "preise.csv": ({"preis": ("histogram", [4431.5, 1298.5, 6942.5]), "menge": ("histogram", [6, 6, 6])}, []),
    "budget.csv": (
        {"solde": ("histogram", [4672.75, -3259.75, 7834.75]), "dépense": ("histogram", [10275, 994, 6726])},
        [],
    ),
    "ledger.csv": ({"balance": ("histogram", [7474, -1453, 8617]), "fee": ("histogram", [-24.25, 8.25, 6.25])}, []),
    "weights.csv": ({"dose": ("histogram", [24, 2, 15]), "clinic": ("categorical", None)}, []),
    "people.csv": (
        {
            "weight": ("histogram", [74, 70, 77]),
            "height": ("histogram", [175, 154, 192]),
            "fat": ("histogram", [27, 11]),
        },
        [],
    ),
    "survey.csv": (
        {"age": ("histogram", [None, None, 51]), "income": ("histogram", [93000, 53000, 147000])},
        [
            r"'age': 8 cells are not numbers and were treated as missing: unknown \(5\), refused \(3\)",
            r"'income': 3 cells are not numbers and were treated as missing: prefer not to say \(3\)",
        ],
    ),
    "gaps.csv": ({"score": ("histogram", [None] * 12), "city": ("categorical", None)}, []),
    "padded.csv": ({"colour": ("categorical", None), "size": ("histogram", [3, 5, 6])}, []),
    "codes.csv": (dict.fromkeys(["zip", "version", "address", "phone"], ("categorical", None)), []),
    "currencies.csv": (
        {"amount": (None, None), "shop": ("categorical", None)},
        [r"'amount': the numbers have different units: \$ \(19\), € \(11\); the column was not taken for numbers"],
    ),
    "loads.csv": (
        {"load": (None, None), "truck": ("categorical", None)},
        [r"'load': the numbers have different units: lb \(16\), kg \(14\)"],
    ),
    "salaries.csv": ({"salary": ("histogram", [1524456, 564456, 408456]), "grade": ("categorical", None)}, []),
    "allergies.csv": (
        {"allergy": ("categorical", None), "age": ("histogram", [40, 39, 65])},
        [r"'allergy': 17 of 30 cells are None and were read as missing\nhint: missing_only="],
    ),
    "dependents.csv": (
        {"dependents": ("ordinal:0<1<2<3+", None), "income": ("histogram", [7176.5, 1946.5, 3861.5])},
        [],
    ),
}


def fitted(path):
    """The model of a file whose last column is the label, and what was said."""
    label = re.split("[,;]", Path(path).read_text(encoding="utf-8").splitlines()[0])[-1]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = tb.fit(path, label=label)
    return model, [str(one.message) for one in found if one.category is DataWarning]


@pytest.mark.parametrize("name", FILES)
def test_what_is_understood(name):
    columns, expected = FILES[name]
    model, warned = fitted(FOLDER / name)
    assert len(warned) == bool(expected)  # one warning with all doubts
    for doubt, pattern in zip(model.doubts, expected, strict=True):
        assert re.search(pattern, str(doubt))
        assert doubt.text in warned[0]
    assert model.class_counts == {"no": 15, "yes": 15}
    head = tb.read(FOLDER / name).head()
    assert model.schema.columns.keys() == columns.keys()
    for column, (family, values) in columns.items():
        found = model.schema.columns[column].family
        assert (None if found is None else str(found)) == family
        if values is not None:
            assert head.columns[column].to_pylist()[: len(values)] == values


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_model_of_one_part_predicts_the_other_part_and_single_rows(name, tmp_path):
    """Each row alone is read as it is in the whole file, although alone it would often be read otherwise."""
    delimiter = ";" if name in ("umsatz.csv", "budget.csv") else ","
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter=delimiter)

    def part(some, n_columns=None):
        path = tmp_path / "part.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([row[:n_columns] for row in [header, *some]])
        return path

    model, _ = fitted(part(rows[:20]))
    columns = [field.name for field in model.schema.columns.values() if field.family is not None]
    assert columns
    whole = model.predict_proba(part(rows[20:], -1))
    alone = [model.predict_proba(part([row], -1))[0].tolist() for row in rows[20:]]
    assert alone == whole.tolist()
    cells = {column: [row[j] for row in rows[20:]] for j, column in enumerate(header[:-1])}
    formatted = [column for column in columns if model.schema.columns[column].reader.format is not None]
    if formatted == columns:  # text in memory is parsed by the same format
        assert model.predict_proba(cells).tolist() == whole.tolist()
    tb.evaluate(model, part(rows[20:]))


def test_labels_meet_without_the_spaces_around_them(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\nred, yes\n red,yes\nblue , no\nblue, ?\n")
    with pytest.warns(DataWarning, match=r"1 of 4 rows have no label .*; words .* as a missing label: '\?' \(1\)"):
        model = tb.fit(tmp_path / "a.csv", label="y")
    assert model.class_counts == {"no": 1, "yes": 2}
    assert model.skipped == 1
    assert model.same_counts(tb.fit({"a": ["red", "red", "blue"], "y": ["yes", "yes", "no"]}, label="y"))

"""What was dropped, guessed or changed in an uploaded file is said with its rows."""

import tallybayes as tb
from tallybayes.server.http.uploaded_rows import uploaded_rows

PETS = {"name": ["Mimi", "Rex"] * 30, "kilos": [3.9, 20.0] * 30, "born": ["01/02/1990", "25/12/1980"] * 30}


def upload(text, encoding="utf-8"):
    schema = tb.fit(PETS | {"pet": ["cat", "dog"] * 30}, label="pet", families={"name": "text"}).schema
    found = uploaded_rows(text if isinstance(text, bytes) else text.encode(encoding), schema, name="pets.csv")
    return found["rows"], "\n".join(found["notes"])


def test_a_header_below_a_title_is_found_and_totals_are_named():
    rows, notes = upload("My report;;\nname;kilos;pet\nMimi;3,9;cat\nRex;20;dog\nTotal;23,9;\n")
    assert rows[0] == {"name": "Mimi", "kilos": 3.9, "pet": "cat"}
    assert "the header was taken from line 2" in notes
    assert "the last row seems to hold totals" in notes
    assert "columns without a name" not in notes


def test_cells_encodings_and_dates_in_another_order():
    assert "heavy" in upload("name,kilos\nMimi,heavy\nRex,4\n")[1]
    mixed = "name,kilos\nM\xe9,3.9\n".encode("latin-1") + "Zo\u00eb,4\n".encode()
    assert "1 line is not in UTF-8" in upload(mixed)[1]
    dates = "name,born\n" + "".join(f"Mimi,03/{month:02}/2024\n" for month in range(1, 13)) * 3
    assert "was read with the day first" in upload(dates)[1]


def test_nothing_doubtful_has_no_notes():
    assert upload("name,kilos,born\nMimi,3.9,01/02/1990\nRex,20,25/12/1980\n")[1] == ""

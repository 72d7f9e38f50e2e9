"""The recipe for multiprocessing in docs/scale.md runs as printed, and its model is that of `fit`."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tallybayes as tb
from mixed_table import cut, mixed_table

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_recipe_for_multiprocessing_gives_the_model_of_fit(tmp_path):
    text = (ROOT / "docs" / "scale.md").read_text()
    (recipe,) = re.findall(r"```python\n(import glob, multiprocessing\n.*?)```", text, re.DOTALL)
    table = mixed_table(400).drop_columns("w").rename_columns({"y": "pet"})
    (tmp_path / "pets").mkdir()
    for i, piece in enumerate([table.slice(0, 200), *cut(table.slice(200), 3)]):
        pq.write_table(piece, tmp_path / "pets" / f"{i}.parquet")
    (tmp_path / "recipe.py").write_text(recipe)
    subprocess.run([sys.executable, "recipe.py"], cwd=tmp_path, check=True, timeout=120)
    found = tb.load(tmp_path / "pets.tally")
    tb.fit(table, label="pet", schema=found.schema).save(tmp_path / "alone.tally")
    assert (tmp_path / "pets.tally").read_bytes() == (tmp_path / "alone.tally").read_bytes()

"""Draws docs/penguins.svg, the picture of the README: a column as it was learned, and the explanation of one answer."""

from pathlib import Path

from palmerpenguins import load_penguins

import tallybayes as tb

TARGET = Path(__file__).parents[1] / "docs" / "penguins.svg"


def main() -> None:
    penguins = load_penguins()
    model = tb.fit(penguins, label="species", ignore="year")
    measured = penguins.dropna()
    unsure = int(abs(model.predict_proba(measured).max(axis=1) - 0.8).argmin())
    (explanation,) = model.explain(measured.iloc[[unsure]])
    picture = tb.plot.densities(model, "bill_length_mm").properties(
        title="P(bill length | species)", width=330, height=220
    ) | tb.plot.evidence(explanation).properties(title="Why this penguin? In decibans", width=330, height=220)
    picture.configure_view(stroke=None).save(TARGET)


if __name__ == "__main__":
    main()

"""The pictures of the lecture pages, drawn from models: python docs/lectures/pictures.py [FOLDER WITH DATA].

Those of the films and of spam need data, which is looked for in the folder given, in the one that TALLYBAYES_DATA
names, or here; without it their files are left as they are.
"""

import os
import sys
from pathlib import Path

import altair as alt
from drawing import bells, chances, files

HERE = Path(__file__).parent
PICTURES = {
    "urn": chances.urn,
    "table": chances.table,
    "table-density": chances.table_density,
    "net": chances.net,
    "likelihood": chances.likelihood,
    "three-estimates": chances.three_estimates,
    "smoothing": chances.smoothing,
    "symptoms": chances.symptoms,
    "sentence": chances.sentence,
    "bell": bells.bell,
    "dice": bells.dice,
    "iris": bells.iris,
    "iris-densities": bells.iris_densities,
    "discriminant": bells.discriminant,
    "learning-curves": bells.learning_curves,
    "stream": bells.stream,
}
OF_DATA = {
    "films-features": (files.films_features, "movie_body_count.parquet"),
    "films-threshold": (files.films_threshold, "movie_body_count.parquet"),
    "spam-k": (files.spam_k, "sms_spam.parquet"),
}


_AROUND, _BETWEEN = 14, 84  # pixels around a picture, and between panels


def styled(chart: alt.TopLevelMixin) -> alt.TopLevelMixin:
    """On white, so that it can be read in the dark too; without a word for each mark, which would make it large.

    The paddings have room for fonts that are wider than that by which Vega places texts, such as DejaVu Sans.
    """
    if isinstance(chart, alt.HConcatChart):  # the panels' frames and titles are on one height
        chart = chart.properties(bounds="flush", spacing=_BETWEEN)
    chart = chart.configure(background="white", aria=False, padding=_AROUND).configure_view(stroke=None)
    chart = chart.configure_axis(labelPadding=4, titlePadding=14).configure_title(frame="group", offset=12)
    return chart.configure_legend(columnPadding=34, labelOffset=6)


def main(folder: Path, target: Path = HERE) -> None:
    """Draw everything for which there is data."""
    for name, draw in PICTURES.items():
        styled(draw()).save(target / f"{name}.svg")
    for name, (draw_from, file) in OF_DATA.items():
        if (folder / file).exists():
            styled(draw_from(folder)).save(target / f"{name}.svg")
        else:
            print(f"{name}.svg is left as it is: {file} is not in {folder}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TALLYBAYES_DATA", ".")))

"""The options of `fit`: declared once, the same everywhere, and checked."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
import typer

import tallybayes as tb
from tallybayes.cli.main import app
from tallybayes.errors import ParameterError
from tallybayes.model.saved_model import dumps, loads
from tallybayes.river import NaiveBayes
from tallybayes.state.options import LABELLED, OPTIONS, PRESETS, SETTINGS, UNWEIGHTED, complete
from tallybayes.state.settings import Settings
from transcripts import ROOT, options_table

DATA = {"colour": ["red", "red", "blue", "green"], "size": [1.0, 1.5, 3.0, 3.5], "y": ["a", "a", "b", "b"]}
FUNCTIONS = [tb.fit, tb.tune, tb.cross_validate, tb.compare, tb.prequential]
WRONG_STRENGTHS = [
    -1,
    math.nan,
    True,
    np.True_,
    "1",
    None,
    1e101,
    1e308,
    10**400,
    1e-301,
    5e-324,
    1j,
    [1.0],
    np.ones(1),
]


def words(text):
    return " ".join(text.split())


def defaults(function):
    return {name: p.default for name, p in inspect.signature(function).parameters.items() if name in OPTIONS}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_have_every_option_in_signature_and_docstring(function):
    options = OPTIONS if function is tb.fit else UNWEIGHTED if function in (tb.tune, tb.prequential) else LABELLED
    assert defaults(function) == {name: option.default for name, option in options.items()}
    assert inspect.Parameter.VAR_KEYWORD not in {p.kind for p in inspect.signature(function).parameters.values()}
    for name, option in options.items():
        assert f"{name}: {option.help}" in words(inspect.getdoc(function)), name


def test_settings_have_every_option_that_a_model_keeps():
    model = tb.fit(DATA, label="y")
    for name, option in SETTINGS.items():
        assert getattr(model.settings, name) == option.domain.check(name, option.default)
    changed = model.settings.with_options(smoothing=2)
    assert (changed.smoothing, changed.class_prior) == (2.0, model.settings.class_prior)


def test_the_scikit_learn_estimator_has_every_option():
    parameters = tb.NaiveBayesClassifier().get_params()
    assert parameters.pop("tune") is False
    assert parameters == {name: option.default for name, option in OPTIONS.items()}
    for name, option in OPTIONS.items():
        line = f"{name} : {option.domain.words}, default={option.default!r} {option.help}"
        assert words(line) in words(tb.NaiveBayesClassifier.__doc__)


def test_the_river_estimator_has_every_setting():
    found = defaults(NaiveBayes)
    own = {"smoothing": 1.0}
    wanted = {name: own.get(name, option.default) for name, option in SETTINGS.items() if name != "infer"}
    assert found == {"families": None, **wanted}
    for name in found:
        assert OPTIONS[name].help in words(NaiveBayes.__doc__)


@pytest.mark.parametrize("verb", ["fit", "tune", "evaluate", "compare"])
def test_commands_have_every_option(verb):
    declared = {parameter.name: parameter for parameter in typer.main.get_command(app).commands[verb].params}
    for name, option in UNWEIGHTED.items():
        found = declared[name]
        assert found.opts == [f"--{(option.flag or name).replace('_', '-')}"]
        default = f" [{option.default}]" if option.default else ""
        assert found.help.removesuffix(default).removesuffix(" (repeatable)") == option.help
        assert found.default is None
    assert ("column_weights" in declared) == (verb != "tune")


def test_the_model_file_keeps_every_setting():
    given = {
        "smoothing": {"colour": 2.0, "size": "auto"},
        "numeric": tb.Gaussian(),
        "class_prior": {"a": 0.25, "b": 0.75},
        "class_smoothing": math.inf,
        "estimate": "mle",
        "unseen": "missing",
        "missing_as_value": {"colour": False, "size": True},
        "class_weight": {"a": 2.0},
        "infer": "type",
    }
    assert given.keys() | {"column_priors"} == SETTINGS.keys()  # which needs bayes: tests/model/test_priors.py
    model = tb.fit(DATA, label="y", **given)
    assert {name: getattr(loads(dumps(model)).settings, name) for name in given} == given


def test_the_table_of_options_in_the_documentation_is_current():
    text = (ROOT / "docs" / "options.md").read_text()
    assert options_table() in text


@pytest.mark.parametrize("function", [*FUNCTIONS, tb.NaiveBayesClassifier, NaiveBayes])
def test_an_unknown_option_is_an_error_with_a_hint(function):
    arguments = () if isinstance(function, type) else (DATA, "y")
    with pytest.raises(ParameterError, match=r"the name of an option, got 'smothing'\nhint: did you mean 'smoothing'"):
        function(*arguments, smothing=1)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("weight", "sample_weight"),
        ("weights", "column_weights"),
        ("prior", "class_prior"),
        ("prior_smoothing", "class_smoothing"),
        ("alpha", "smoothing"),
    ],
)
def test_the_hint_for_a_name_that_other_libraries_use_is_ours(name, meant):
    with pytest.raises(ParameterError, match=f"hint: did you mean '{meant}'"):
        tb.fit(DATA, "y", **{name: None})


@pytest.mark.parametrize("value", WRONG_STRENGTHS, ids=repr)
def test_a_strength_outside_its_domain_is_refused(value):
    for options in ({"smoothing": value}, {"smoothing": {"colour": value}}, {"class_smoothing": value}):
        (name,) = options
        with pytest.raises(
            ParameterError, match=rf"expected {name} to be .*0, a number from 1e-300 to 1e\+100, or inf"
        ):
            tb.fit(DATA, label="y", **options)


@pytest.mark.parametrize("numeric", ["histogram", "gaussian", "poisson", "categorical"])
@pytest.mark.parametrize("k", [1e-300, 1e-30, 1, np.float32(0.5), np.int64(2), 1e30, 1e100, math.inf])
def test_every_strength_in_its_domain_gives_finite_probabilities(k, numeric):
    table = DATA | {"size": [1, 1, 3, 4], "tags": [{"u"}, {"u", "v"}, {"w"}, set()], "flag": [True, False, None, True]}
    model = tb.fit(table, label="y", smoothing=k, class_smoothing=k, numeric=numeric)
    p = model.predict_proba([{"colour": "red", "size": 1, "tags": {"u"}, "flag": True}, {"colour": "new"}, {"size": 9}])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize(
    "prior",
    [
        "flat",
        None,
        0.5,
        {},
        {"a": 0.5},
        {"a": 2.0, "b": -1.0},
        {"a": math.nan, "b": 1.0},
        {"a": True, "b": False},
        {"a": "1", "b": 0.0},
        {"a": math.inf, "b": 0.0},
    ],
    ids=repr,
)
def test_a_prior_outside_its_domain_is_refused(prior):
    with pytest.raises(
        ParameterError, match="expected class_prior to be 'empirical', 'uniform', a dict of probabilities"
    ):
        Settings(class_prior=prior)


def test_a_mapping_given_as_an_option_is_copied():
    smoothing, prior = {"colour": 1.0}, {"a": 0.5, "b": 0.5}
    settings = Settings(smoothing=smoothing, class_prior=prior)
    smoothing["colour"], prior["a"] = -1.0, 7.0
    assert (settings.smoothing, settings.class_prior) == ({"colour": 1.0}, {"a": 0.5, "b": 0.5})


def test_options_not_given_have_their_defaults():
    assert complete({}) == {name: option.default for name, option in OPTIONS.items()}


def test_zero_is_a_value_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
    arguments = ["fit", "t.csv", "--label", "y", "--class-smoothing", "0", "--smoothing", "0"]
    typer.main.get_command(app)(arguments, standalone_mode=False)
    found = tb.load("t.tally").settings
    assert (found.class_smoothing, found.smoothing) == (0.0, 0.0)


def test_no_weights_can_be_asked_for_where_there_are_none():
    rows = {"x": ["a", "b"] * 30, "y": ["p", "q"] * 30}
    assert tb.prequential(rows, label="y", column_weights=None).rows == tb.prequential(rows, label="y").rows
    with pytest.raises(ParameterError, match="the name of an option"):
        tb.tune(rows, label="y", column_weights="auto")


# Presets


def test_the_textbook_preset_is_a_short_form_of_its_options():
    rows = {"x": [1.0, 2.5, 3.0, 4.5] * 20, "c": ["a", "b", "b", "c"] * 20, "y": ["p", "q", "p", "q"] * 20}
    written_out = {"numeric": "gaussian", "smoothing": 1, "column_weights": None}
    assert PRESETS["textbook"] == written_out
    model = tb.fit(rows, "y", preset="textbook")
    assert dumps(model) == dumps(tb.fit(rows, "y", **written_out))
    assert str(model.schema.families["x"]) == "gaussian"
    found = [tb.cross_validate(rows, "y", **given).log_loss for given in ({"preset": "textbook"}, written_out)]
    assert found[0] == found[1]
    estimator = tb.NaiveBayesClassifier(preset="textbook").fit(pd.DataFrame(rows)[["x", "c"]], rows["y"])
    np.testing.assert_array_equal(estimator.model_.predict_proba(rows), model.predict_proba(rows))
    assert estimator.get_params()["smoothing"] == "auto"


def test_an_option_beside_a_preset_takes_precedence():
    rows = {"x": [1.0, 2.5, 3.0, 4.5] * 20, "y": ["p", "q", "p", "q"] * 20}
    model = tb.fit(rows, "y", preset="textbook", smoothing="auto", column_weights="auto")
    assert (model.settings.smoothing, model.column_weights.fitted_on > 0) == ("auto", True)
    assert str(model.schema.families["x"]) == "gaussian"
    estimator = tb.NaiveBayesClassifier(preset="textbook", smoothing=3.0).fit(pd.DataFrame(rows)[["x"]], rows["y"])
    assert estimator.model_.settings.smoothing == 3.0
    with pytest.raises(ParameterError, match="preset to be 'textbook' or None, got 'book'"):
        tb.fit(rows, "y", preset="book")


@pytest.mark.parametrize(("words", "smoothing"), [([], 1.0), (["--smoothing", "auto"], "auto")])
def test_a_preset_on_the_command_line_and_in_the_configuration(tmp_path, monkeypatch, words, smoothing):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n" + "1.5,a\n2.5,b\n3.5,a\n" * 30)
    typer.main.get_command(app)(["fit", "t.csv", "--label", "y", "--preset", "textbook", *words], standalone_mode=False)
    found = tb.load("t.tally")
    assert (found.settings.smoothing, found.column_weights) == (smoothing, tb.ColumnWeights())
    (tmp_path / "tally.toml").write_text('preset = "textbook"\n')
    typer.main.get_command(app)(["fit", "t.csv", "--label", "y", "-o", "u.tally", *words], standalone_mode=False)
    assert (tmp_path / "u.tally").read_bytes() == (tmp_path / "t.tally").read_bytes()

"""tally from-probabilities: a model from probabilities that a file lists."""

from __future__ import annotations

from tallybayes.cli.messages import note
from tallybayes.cli.shared_options import argument, option

__all__ = ["from_probabilities"]

_KEYS = ("label", "class_prior", "tables")


def from_probabilities(
    file: str = argument("FILE", "A .toml or .json file with label, class_prior and tables."),
    *,
    output: str = option("MODEL", "The model file to write.", ..., "-o", "--output"),
) -> None:
    """Make a model from given probabilities instead of data.

    FILE has the name of the label, P(class), and for each column and class a table of P(value); a single number is the
    probability of true. The model predicts, explains and samples; it cannot learn, forget or merge.

        tally from-probabilities test.toml -o test.tally     # test.toml:
        label = "cancer"
        class_prior = {yes = 0.01, no = 0.99}
        [tables.test]
        yes = {"+" = 0.9, "-" = 0.1}
        no = {"+" = 0.05, "-" = 0.95}
    """
    from tallybayes.cli.priors_file import read_facts
    from tallybayes.errors import ParameterError
    from tallybayes.formatting import several
    from tallybayes.model.from_probabilities import from_probabilities as make_model

    content = read_facts(file, "an object with label, class_prior and tables")
    content = {"tables": {}} | content  # without columns, P(class) alone
    for name in ("class_prior", "tables"):
        if not isinstance(content.get(name), dict):
            hint = "a file has label, class_prior and tables; see tally from-probabilities --help"
            raise ParameterError(f"{name} in {file}, values by name", got=content.get(name), hint=hint)
    if unknown := [name for name in content if name not in _KEYS]:
        raise ParameterError(f"only {', '.join(_KEYS)} in {file}", got=unknown[0])
    model = make_model(content["class_prior"], content["tables"], label=str(content.get("label", "class")))
    model.save(output)
    sizes = several(len(model.classes), "class", "es"), several(len(content["tables"]), "column")
    note(f"wrote {output}: {', '.join(sizes)}")

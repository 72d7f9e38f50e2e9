"""Options from `tally.toml`, beside the data or in the working directory.

    label = "species"            # an option of every command that has it
    missing = ["-", "unknown"]

    [fit]                        # options of one command
    numeric = "gaussian"

The keys are the long options without their dashes. The command line wins over the file, and a command over the keys at
the top. Options that name what is written are not read from the file: a folder of data that somebody else has made
must not decide which files are replaced.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from tallybayes.errors import Described, ParameterError, did_you_mean

__all__ = ["NAME", "config_beside", "config_values", "read_config"]

NAME = "tally.toml"
_COMMAND_LINE_ONLY = ("output", "in-place", "save-schema", "keep", "help", "version", "no-config")


def config_beside(data: Iterable[str]) -> str | None:
    """The configuration in the folder of the first data that is a file or folder, else in the working directory."""
    for path in data:
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        if os.path.exists(path) and os.path.isfile(beside := os.path.join(folder, NAME)):
            return beside
    return NAME if os.path.isfile(NAME) else None


def read_config(path: str) -> dict[str, Any]:
    """The content of a configuration file."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"expected TOML: {error}", file=path) from None


def config_values(
    content: Mapping[str, Any], path: str, *, command: str, options: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """The values for one command, by the long name of the option.

    options: by command and long name, what kind of value the option takes: "flag", "list" or "value".

    >>> options = {"fit": {"label": "value", "missing": "list"}, "inspect": {"json": "flag"}}
    >>> config_values({"label": "pet", "fit": {"missing": "-"}}, "tally.toml", command="fit", options=options)
    {'label': 'pet', 'missing': ['-']}
    >>> config_values({"lable": "pet"}, "tally.toml", command="fit", options=options)
    Traceback (most recent call last):
        ...
    tallybayes.errors.ParameterError: tally.toml: expected an option of a command, or a table such as [fit], got 'lable'
    hint: did you mean 'label'?
    """
    every = {name: kind for known in options.values() for name, kind in known.items()} | dict(options[command])
    general, by_command = {}, {}
    for name, value in content.items():
        if not isinstance(value, Mapping):
            general[name] = _value(name, value, every, path, None)
        elif name in options:
            by_command[name] = {key: _value(key, setting, options[name], path, name) for key, setting in value.items()}
        else:
            got, hint = Described(f"[{name}]"), did_you_mean(name, options, "commands")
            raise ParameterError("the name of a command", got=got, file=path, hint=hint)
    result = general | by_command.get(command, {})
    return {name: value for name, value in result.items() if name in options[command]}


def _value(name: str, value: Any, known: Mapping[str, str], path: str, command: str | None) -> Any:
    """The value of an option as the command line takes it; text for a number, a list for a repeatable option."""
    if name in _COMMAND_LINE_ONLY:
        got = Described(f"{name} in the file")
        raise ParameterError(f"--{name} on the command line only", got=got, file=path)
    if name not in known:
        what = (
            "an option of a command, or a table such as [fit]" if command is None else f"an option of tally {command}"
        )
        raise ParameterError(what, got=name, file=path, hint=did_you_mean(name, known))
    kind, values = known[name], value if isinstance(value, list) else [value]
    fits = (
        isinstance(value, bool) if kind == "flag" else not any(isinstance(part, (bool, list, dict)) for part in values)
    )
    if not fits or (kind == "value" and isinstance(value, list)):
        words = {"flag": "true or false", "list": "text, or a list of texts", "value": "one text or number"}
        raise ParameterError(f"{name}: {words[kind]}", got=value, file=path)
    return value if kind == "flag" else list(map(str, values)) if kind == "list" else str(value)

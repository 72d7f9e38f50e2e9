"""A subcommand: its defaults from tally.toml, and help that begins with an example."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tallybayes.cli.config_file import config_beside, config_values, read_config
from tallybayes.cli.messages import note, set_talk
from tallybayes.cli.shared_options import with_options

__all__ = ["Command", "Group", "add_command", "from_config"]

_NUMBERS = {"int_parsing": "an integer", "float_parsing": "a number"}  # by what pydantic calls the error

_configured: frozenset[str] = frozenset()  # parameters of the current command whose values are from tally.toml


def from_config(name: str) -> bool:
    """Whether the value of a parameter of the current command is from tally.toml."""
    return name in _configured


class _PlainValues:
    """Values of options that need no conversion: texts, and defaults.

    typer (0.29) converts every value by pydantic, whose import takes longer than a prediction. Anything but text and
    None is left to it. Older versions have no such attribute of their parameters, and never look at ours.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter in its type."""
        kind, is_list = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        if kind is str and isinstance(value, str):
            return value
        if kind == list[str] and isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
            return list(value)
        if isinstance(value, kind if kind in (int, float) else ()) and not isinstance(value, bool):
            return value
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


class _ExampleFirst:
    """Help that shows an example before anything else; values that are text are not converted."""

    epilog: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, also those that typer adds."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            parameter._runtime_param = _PlainValues()
        return parameters

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the example, then the usual help."""
        for line in (self.epilog or "").strip().splitlines():
            formatter.write(f"  {line}\n")
        formatter.write("\n")
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: the example is at the top."""


class Command(_ExampleFirst, TyperCommand):
    """A subcommand, whose arguments are shown as their metavars say: MODEL DATA..."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, with defaults from tally.toml; other words than numbers are reported in ours."""
        self._configure(ctx, args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            for problem in getattr(error.__cause__, "errors", list)():
                if problem["type"] in _NUMBERS:
                    error.message = f"expected {_NUMBERS[problem['type']]}, got {problem['input']!r}"
            raise

    def _configure(self, ctx: Any, args: list[str]) -> None:
        """Take the options that the command line does not give from tally.toml, and say so."""
        global _configured
        _configured = frozenset()
        if {"--no-config", "--help", "-h"} & {*args}:
            return
        arguments, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        places = [arguments.get(parameter.name) for parameter in self.params if parameter.param_type_name == "argument"]
        data = [path for place in places for path in ([place] if isinstance(place, str) else place or ())]
        if (path := config_beside([path for path in data if not path.endswith(".tally")])) is None:
            return
        options = {name: _long_options(command) for name, command in ctx.parent.command.commands.items()}
        long_options = _long_options(self)
        values = config_values(
            read_config(path),
            path,
            command=self.name or "",
            options={name: {key: kind for key, (_, kind) in known.items()} for name, known in options.items()},
        )
        used = {name: value for name, value in values.items() if arguments.get(long_options[name][0]) is None}
        ctx.default_map = {long_options[name][0]: value for name, value in used.items()}
        _configured = frozenset(ctx.default_map)
        if used:
            set_talk("quiet" if arguments.get("quiet") else "usual")
            note(f"options from {path}: {', '.join(used)}")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line after the name of the command."""
        return ["[OPTIONS]", *(name for name, _ in self._arguments())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options with their help."""
        shown = [record.get_help_record(ctx) for record in self.get_params(ctx) if record.param_type_name == "option"]
        for title, records in (("Arguments", self._arguments()), ("Options", [record for record in shown if record])):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _arguments(self) -> list[tuple[str, str]]:
        """The metavar and the help of each argument."""
        arguments: list[Any] = [argument for argument in self.params if argument.param_type_name == "argument"]
        return [(argument.metavar, argument.help) for argument in arguments]


class Group(_ExampleFirst, TyperGroup):
    """The command `tally`."""


def add_command(
    app: typer.Typer, verb: Callable[..., None], name: str | None = None, kind: type[Command] = Command
) -> None:
    """Add a subcommand; its help is its docstring, the last paragraph of which is its examples."""
    text, _, examples = inspect.cleandoc(verb.__doc__ or "").rpartition("\n\n")
    app.command(name, cls=kind, help=text, epilog=inspect.cleandoc(examples))(with_options(verb))


def _long_options(command: Any) -> dict[str, tuple[str, str]]:
    """The options of a command by their long names without dashes: the parameter, and what kind of value it takes."""
    return {
        name[2:]: (option.name, "flag" if option.is_flag else "list" if option.multiple else "value")
        for option in command.params
        if option.param_type_name == "option"
        for name in option.opts
        if name.startswith("--")
    }

"""tally log: the changes of a hosted model. They can be listed and exported while a server is running."""

from __future__ import annotations

from typing import Any

import typer

from tallybayes.cli.messages import note, print_result, progress
from tallybayes.cli.shared_options import JSON, MODEL, option
from tallybayes.cli.subcommand import Command, Group, add_command

__all__ = ["EXAMPLE", "HELP", "log"]

HELP = "List, export, verify and compact the changes of a hosted model (see tally serve)."
EXAMPLE = """
tally log list mail.tally                     # the last changes
tally log export mail.tally -o events.parquet # all changes with their rows
tally log verify mail.tally                   # replay everything and compare
tally log compact mail.tally --keep 1000      # fold older changes into mail.tally
"""


class LogCommand(Command):
    """A subcommand of `tally log`; it takes no options from tally.toml."""

    def _configure(self, ctx: Any, args: list[str]) -> None:
        """Read no configuration."""


def list_events(
    model: str = MODEL,
    *,
    n: int = option("N", "At most N changes, the newest first.", 20, "-n"),
    before: int | None = option("EVENT", "Only changes before this one."),
    kind: str | None = option("KIND", "learn, forget, undo, calibrate, decide or replace."),
    who: str | None = option("NAME", "Only changes of this sender."),
    json: bool = JSON,
) -> None:
    """List the changes of a hosted model, the newest first.

    tally log list mail.tally -n 5 --kind learn
    """
    from tallybayes.errors import check_integer
    from tallybayes.formatting import text_table

    with _open_log(model) as log:
        page = log.page(before=before, limit=check_integer("-n", n, at_least=1), kind=kind, who=who)
    events = [event.to_dict() for event in page]
    if json:
        print_result({"model": model, "events": events})
        return
    lines = [[str(e["event"]), e["time"], e["who"], e["summary"] + _state(e)] for e in events]
    print_result(text_table(["event", "time", "who", "change"], lines) if lines else "no changes")


def export(
    model: str = MODEL, *, output: str = option("FILE", "The Parquet file to write.", ..., "-o", "--output")
) -> None:
    """Write all changes with their rows to a Parquet file.

    tally log export mail.tally -o events.parquet
    """
    from tallybayes.atomic_file import replacing
    from tallybayes.server.events.event import write_parquet

    with _open_log(model) as log, replacing(output, "the export") as file:
        n_events = write_parquet(log.after(0), file)
    note(f"wrote {n_events:,} changes to {output}")


def verify(model: str = MODEL, *, json: bool = JSON) -> None:
    """Replay all changes from the base in two ways, and compare the models byte for byte.

    Every checksum is compared, too. A failure is reported with the change that is damaged.

        tally log verify mail.tally
    """
    from tallybayes.server.events.log_proof import prove

    files = _files(model)
    with progress("verifying", unit="changes") as step:
        proof = prove(files, None if step is None else lambda event: step(event, None, 0))
    print_result({"model": model, **proof.facts} if json else str(proof))


def compact(
    model: str = MODEL,
    *,
    keep: int = option("N", "Keep the last N changes, which can still be undone.", 0),
    json: bool = JSON,
) -> None:
    """Fold changes into the model file, and drop their rows from the log.

    The model stays the same, byte for byte. Changes that are folded are still listed, but cannot be undone any more. No
    server may have the model open.

        tally log compact mail.tally --keep 1000
    """
    from dataclasses import asdict

    from tallybayes.server.events.model_history import compact as fold

    files = _files(model)
    with progress("compacting", unit="changes"):
        done = fold(files, keep=keep)
    sizes = f"the log had {done.bytes_before:,} bytes and has {done.bytes_after:,}"
    text = f"folded {done.folded:,} changes into {model}; {done.left:,} can still be undone; {sizes}"
    print_result({"model": model, **asdict(done)} if json else text)


def _files(model: str) -> Any:
    from tallybayes.errors import FileError
    from tallybayes.server.events.model_files import ModelFiles

    files = ModelFiles.of(model)
    if not files.has_log:
        hint = "tally serve begins a log beside a model"
        raise FileError("expected a model with a log, got one without", file=model, hint=hint)
    return files


def _open_log(model: str) -> Any:
    import contextlib

    from tallybayes.server.events.event_log import EventLog

    return contextlib.closing(EventLog(_files(model).log, read_only=True))


def _state(event: dict[str, Any]) -> str:
    if event["undone_by"] is not None:
        return f" (undone by event {event['undone_by']})"
    return " (folded)" if event["folded"] else ""


log = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None)
for _name, _verb in (("list", list_events), ("export", export), ("verify", verify), ("compact", compact)):
    add_command(log, _verb, _name, LogCommand)

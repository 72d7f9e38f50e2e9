"""Why a change of a hosted model was refused."""

from __future__ import annotations

from tallybayes.errors import FileError, ParameterError

__all__ = ["KeyReuseError", "NameTakenError", "NotWritableError", "UndoError", "UnknownEventError", "VersionError"]


class VersionError(ParameterError):
    """The model has another version than the one that the change was meant for."""


class KeyReuseError(ParameterError):
    """The idempotency key belongs to another change."""


class UnknownEventError(ParameterError):
    """There is no event with this number."""


class UndoError(ParameterError):
    """The event cannot be undone: it was undone before, was folded into the base, or later events need its rows."""


class NameTakenError(FileError):
    """A new model cannot have this name: a file that would be its log, snapshot or lock exists."""


class NotWritableError(FileError):
    """The change cannot be stored: the model is read-only, closed, or its disk is full."""

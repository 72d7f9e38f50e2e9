"""The hosted models of a folder by name, or a single one: opened together, added and removed while others serve."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Self

from tallybayes.atomic_file import write_file
from tallybayes.errors import FileError, ParameterError, did_you_mean
from tallybayes.server.events.event_rows import MODEL
from tallybayes.server.events.model_files import ModelFiles, hold_lock
from tallybayes.server.live.change_request import Applied, ChangeRequest, VersionError, check_version
from tallybayes.server.live.live_model import LiveModel
from tallybayes.storage.model_file import state_from_bytes, state_to_bytes

__all__ = ["ModelFolder", "NameTakenError"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LOCK = ".tallybayes.lock"
_REMOVAL = "it is still to be removed"


class NameTakenError(FileError):
    """A new model cannot have this name: a file that would be its log, snapshot or lock exists."""


class ModelFolder(Mapping[str, LiveModel]):
    """Hosted models by name.

    >>> import pathlib, tempfile, tallybayes as tb
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> tb.fit({"fever": [1, 0], "ill": ["yes", "no"]}, label="ill").save(folder / "ill.tally")
    >>> with ModelFolder.open(folder) as models:
    ...     {name: live.current.version for name, live in models.items()}
    {'ill': 0}
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self.path, self.read_only = path, read_only
        self._models: dict[str, LiveModel] = {}
        self._changing = threading.Lock()
        self.is_folder = os.path.isdir(path) and not read_only  # whether models can be added and removed
        self._resources = contextlib.ExitStack()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> Self:
        """Open a model file, or every model file of a folder; a FileError if another process uses it."""
        root = os.fsdecode(path)
        folder = cls(root, read_only=read_only)
        if folder.is_folder:
            folder._resources.enter_context(hold_lock(os.path.join(root, _LOCK), f"the folder {root!r}"))
        try:
            for model_path in _model_paths(root) if os.path.isdir(root) else [root]:
                live = LiveModel.open(model_path, read_only=read_only)
                folder._models[live.name] = live
        except BaseException:
            folder.close()
            raise
        return folder

    def __getitem__(self, name: str) -> LiveModel:
        return self._models[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._models))

    def __len__(self) -> int:
        return len(self._models)

    def find(self, name: str) -> LiveModel:
        """The model with a name, or an error with a hint."""
        if (live := self._models.get(name)) is None:
            raise ParameterError("the name of a model", got=name, hint=did_you_mean(name, list(self), "models"))
        return live

    def add(self, name: str, data: bytes, *, who: str = "", key: str | None = None) -> Future[Applied]:
        """Host a model from the bytes of its file, which are checked; a model of this name is replaced by an event."""
        state = state_from_bytes(data, f"{name}.tally")
        state.require_learned("hosting")
        with self._changing:
            if (live := self._models.get(name)) is not None:
                return live.submit(ChangeRequest("replace", state_to_bytes(state), MODEL, who=who, key=key))
            self._check_writable()
            if not _NAME.fullmatch(name):
                expected = "a name of letters, digits, '.', '_' and '-' that begins with a letter or digit"
                raise ParameterError(expected, got=name)
            files = ModelFiles.of(os.path.join(self.path, f"{name}.tally"))
            _check_free(files)
            try:
                write_file(files.base, state_to_bytes(state), "the model")
                live = LiveModel.open(files.base)
            except BaseException:
                _remove(files)
                raise
            self._models = self._models | {name: live}
        done: Future[Applied] = Future()
        done.set_result(Applied(0, 0, "replace"))
        return done

    def reload(self) -> list[str]:
        """Open the models whose files were put into the folder since it was opened; the names of these."""
        added = []
        with self._changing:
            for path in _model_paths(self.path) if os.path.isdir(self.path) else []:
                if ModelFiles.of(path).name not in self._models:
                    live = LiveModel.open(path, read_only=self.read_only)
                    self._models = self._models | {live.name: live}
                    added.append(live.name)
        return added

    def remove(self, name: str, *, if_version: int | None = None) -> None:
        """Close a model and remove its files; a VersionError if it has another version than the one that is given."""
        with self._changing:
            live = self.find(name)
            self._check_writable()
            check_version(if_version, live.current.version, _REMOVAL)
            self._models = {other: other_model for other, other_model in self._models.items() if other != name}
            live.close()
            try:
                check_version(
                    if_version, live.current.version, _REMOVAL
                )  # what was accepted before has been committed now
            except VersionError:
                self._models = self._models | {name: LiveModel.open(live.files.base)}
                raise
            _remove(live.files)

    def _check_writable(self) -> None:
        if not self.is_folder:
            got = "a single model" if not self.read_only else "a server that is read-only"
            raise FileError(f"models can be added and removed in a folder of models, not with {got}", file=self.path)

    def close(self) -> None:
        """Close all models; what was accepted is finished."""
        for live in self._models.values():
            live.close()
        self._resources.close()
        self.is_folder = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _model_paths(folder: str) -> list[str]:
    names = sorted(name for name in os.listdir(folder) if name.endswith(".tally") and not name.startswith("."))
    return [os.path.join(folder, name) for name in names]


def _check_free(files: ModelFiles) -> None:
    """Refuse a name that files of the folder have: they may be of another program, or of a model not opened yet."""
    for path in files.all():
        if os.path.lexists(path):
            hint = "give the model another name, or move the file away"
            if path == files.base:
                hint = "the server opens it when it is told to reload (SIGHUP) or is started again"
            raise NameTakenError(f"expected a name that no file has, got a file {os.path.basename(path)}", hint=hint)


def _remove(files: ModelFiles) -> None:
    """Remove the files of a model, the base first: without it there is no model."""
    for path in files.all():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

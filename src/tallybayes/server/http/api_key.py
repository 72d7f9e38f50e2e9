"""Keys for the server: what they allow, how they are stored and compared.

A file of keys, or the environment variable TALLY_KEYS, has one key per line:

    sha256:9f86d081884c7d65...   predict,learn   pets,mail   # reader of the shop

the hash of the key, its scopes, the models (names or patterns such as shop-*; * is any), and a name after the sign #,
which the log of events shows as who. A key is 32 random bytes, so that a plain hash is enough: guessing one takes 2^255
tries whatever the cost of a try, and a slow hash would be spent on every request. The secret itself is not stored.

Scopes: predict reads and scores; learn also changes the model by rows (learn, forget, undo); admin also calibrates,
sets the decision rule, uploads and removes models.
"""

from __future__ import annotations

import fnmatch
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tallybayes.errors import FileError, ParameterError, did_you_mean

__all__ = ["SCOPES", "ApiKey", "KeyRing", "new_key"]

SCOPES = ("predict", "learn", "admin")  # each includes those before it
_PREFIX = "tally_"  # so that tools which look for secrets in files can find it
_HASH = "sha256:"
_ENVIRONMENT = "TALLY_KEYS"


@dataclass(frozen=True)
class ApiKey:
    """What a key allows."""

    digest: bytes
    scope: str
    models: tuple[str, ...]
    name: str

    def allows(self, scope: str, model: str | None = None) -> bool:
        """Whether it includes a scope, and a model.

        >>> key = ApiKey(b"", "learn", ("shop-*",), "shop")
        >>> key.allows("predict", "shop-1"), key.allows("admin", "shop-1"), key.allows("learn", "mail")
        (True, False, False)
        """
        if SCOPES.index(scope) > SCOPES.index(self.scope):
            return False
        return model is None or any(fnmatch.fnmatchcase(model, pattern) for pattern in self.models)

    def line(self) -> str:
        """The line for a file of keys."""
        scopes = ",".join(SCOPES[: SCOPES.index(self.scope) + 1])
        return f"{_HASH}{self.digest.hex()} {scopes} {','.join(self.models)} # {self.name}"


class KeyRing:
    """The keys that a server accepts; path: the file that they were read from."""

    def __init__(self, keys: Iterable[ApiKey] = (), path: str | None = None) -> None:
        self._keys, self._path = list(keys), path

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: ApiKey) -> bool:
        return key in self._keys

    def find(self, secret: str) -> ApiKey | None:
        """The key with this secret; it is compared with all keys, in constant time."""
        digest, match = _digest(secret), None
        for key in self._keys:
            if hmac.compare_digest(digest, key.digest):
                match = key
        return match

    @classmethod
    def read(cls, path: str | None) -> KeyRing:
        """The keys of a file, or else of the environment variable TALLY_KEYS; none if there is neither."""
        if path is None:
            text = os.environ.get(_ENVIRONMENT, "")
            return cls.parse(text.replace(";", "\n").splitlines(), _ENVIRONMENT)
        try:
            with open(path, encoding="utf-8") as file:
                ring = cls.parse(file.read().splitlines(), path)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
            raise FileError(f"the keys cannot be read: {reason}", file=path) from error
        if not ring:
            raise FileError("at least one key", got="none", file=path, hint="tally key --scope predict makes one")
        return cls(ring._keys, path)

    def reload(self) -> None:
        """Read the file anew, if there is one: its keys replace all others. They stay as they are after an error."""
        if self._path is not None:
            self._keys = self.read(self._path)._keys

    @classmethod
    def parse(cls, lines: Sequence[str], name: str) -> KeyRing:
        """Keys from lines; empty lines and lines that begin with # are skipped."""
        keys = []
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):
                try:
                    keys.append(_parse_line(line))
                except ParameterError as error:
                    raise FileError(error.expected, got=error.got, hint=error.hint, file=name, line=number) from None
        return cls(keys)


def new_key(scope: str, models: Sequence[str] = ("*",), name: str = "") -> tuple[str, ApiKey]:
    """A new secret, and its key to be stored.

    >>> secret, key = new_key("learn", ["pets"], "the shop")
    >>> KeyRing.parse([key.line()], "keys").find(secret) == key
    True
    """
    _check_scope(scope)
    for model in models:
        if not model or any(sign.isspace() or sign in ",#" for sign in model):
            raise ParameterError("names of models, or patterns such as shop-*", got=model)
    if "\n" in name or "\r" in name:
        raise ParameterError("a name of one line", got=name)
    secret = _PREFIX + secrets.token_urlsafe(32)
    return secret, ApiKey(_digest(secret), scope, tuple(models), name.strip())


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _check_scope(scope: str) -> None:
    if scope not in SCOPES:
        raise ParameterError("a scope: predict, learn or admin", got=scope, hint=did_you_mean(scope, SCOPES))


def _parse_line(line: str) -> ApiKey:
    content, _, name = line.partition("#")
    parts = content.split()
    if len(parts) not in (2, 3) or not parts[0].startswith(_HASH):
        hint = "tally key --scope predict makes a key and prints its line"
        raise ParameterError("sha256:HASH SCOPES [MODELS] [# NAME]", got=content.strip(), hint=hint)
    try:
        digest = bytes.fromhex(parts[0].removeprefix(_HASH))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise ParameterError("a hash of 64 hexadecimal digits", got=parts[0])
    scopes = parts[1].split(",")
    for scope in scopes:
        _check_scope(scope)
    models = tuple(parts[2].split(",")) if len(parts) == 3 else ("*",)
    return ApiKey(digest, max(scopes, key=SCOPES.index), models, name.strip())

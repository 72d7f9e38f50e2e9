"""Logs of the server: one line of JSON per request or message, to standard error."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any

__all__ = ["LEVELS", "JsonLines", "json_line", "log_to_stderr", "logger"]

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

logger = logging.getLogger("tallybayes.server")


def json_line(created: float, level: str, message: str, facts: Mapping[str, Any]) -> str:
    """One line of the log; created: seconds since 1970."""
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(created))
    line = {"time": f"{seconds}.{int(created % 1 * 1000):03d}Z", "level": level, "message": message, **facts}
    return json.dumps(line, default=str)


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, message, and the facts of a request.

    >>> record = logging.makeLogRecord({"msg": "started", "levelname": "INFO", "created": 0.25, "facts": {"port": 80}})
    >>> print(JsonLines().format(record))
    {"time": "1970-01-01T00:00:00.250Z", "level": "info", "message": "started", "port": 80}
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts = getattr(record, "facts", {})
        if record.exc_info:
            facts = {**facts, "error": self.formatException(record.exc_info)}
        return json_line(record.created, record.levelname.lower(), record.getMessage(), facts)


def log_to_stderr(level: str) -> None:
    """Send the logs of the server, and of the library that reads requests, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (logger.name, "uvicorn.error"):
        named = logging.getLogger(name)
        named.handlers, named.propagate = [handler], False
        named.setLevel(LEVELS[level] if name == logger.name else max(LEVELS[level], logging.WARNING))

"""Facts of files that earlier versions wrote, as the present format has them.

1   the status and origin of a column were told by its reason; a sample of rows had one limit
"""

from __future__ import annotations

from typing import Any

from tallybayes.columns.old_schema import upgraded_schema

__all__ = ["upgraded"]


def upgraded(facts: dict[str, Any], number: int) -> dict[str, Any]:
    """The facts of a file of format `number`; what is not as expected stays, and is refused where it is read."""
    if number >= 2:
        return facts
    if "schema" in facts:
        facts = facts | {"schema": upgraded_schema(facts["schema"])}
    if isinstance(sample := facts.get("sample"), dict) and "limit" in sample:
        facts = facts | {"sample": {"limit": sample["limit"], "if_rare": sample["limit"]}}
    return facts

"""Facts of files that earlier versions wrote, as the present format has them.

1   the status and origin of a column were told by its reason; a sample of rows had one limit
2   how the cells of a column are read was written in facts of the column, not in those of its reader
"""

from __future__ import annotations

from typing import Any

from tallybayes.columns.old_schema import SCHEMA_FORMAT, upgrade_schema

__all__ = ["upgrade"]


def upgrade(facts: dict[str, Any], number: int) -> dict[str, Any]:
    """The facts of a file of format `number`; what is not as expected stays, and is refused where it is read."""
    if "schema" in facts and number < SCHEMA_FORMAT:  # schemas have the number of the file that holds them
        facts = facts | {"schema": upgrade_schema(facts["schema"], number)}
    if number < 2 and isinstance(sample := facts.get("sample"), dict) and "limit" in sample:
        facts = facts | {"sample": {"limit": sample["limit"], "if_rare": sample["limit"]}}
    return facts

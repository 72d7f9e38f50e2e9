"""A page about a model: `tallybayes.report.report` makes it, `tally report` writes it."""

from tallybayes.report.report_page import report, write

__all__ = ["report", "write"]

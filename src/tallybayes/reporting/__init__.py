"""Reports about models: HTML pages made by `tallybayes.report`, and the charts in them."""

from tallybayes.reporting.report import report, write_report

__all__ = ["report", "write_report"]

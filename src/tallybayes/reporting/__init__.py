"""Reports about models: HTML pages made by `tallybayes.report`, and the charts in them."""

from tallybayes.reporting.report import is_report, report, write_report

__all__ = ["is_report", "report", "write_report"]

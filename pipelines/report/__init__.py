"""The report: one page for looking at."""

from pipelines.report.page import Findings, report_html

__all__ = ["Findings", "report_html"]

"""The report: patterns and their evidence as one HTML page."""

from pipelines.report.page import Findings, report_html

__all__ = ["Findings", "report_html"]

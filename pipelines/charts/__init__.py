"""Charts of patterns: each function returns an Altair chart that can be customized further.

In a notebook the charts are shown as SVG (`pipelines.charts.svg`), because Altair's default renderer loads a script
from the network. Any other renderer that is enabled, before or after, takes precedence.
"""

from pipelines.charts.lifecycle_chart import lifecycle
from pipelines.charts.pattern_timeline import course
from pipelines.charts.people_chart import relationships
from pipelines.charts.reliability_diagram import calibration
from pipelines.charts.svg import enable_renderer, to_svg
from pipelines.charts.week_chart import week
from pipelines.charts.workflow_chart import workflow

__all__ = ["calibration", "course", "lifecycle", "relationships", "to_svg", "week", "workflow"]

enable_renderer()

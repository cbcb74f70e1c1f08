"""Pictures of patterns: each function returns an Altair chart, to go on from there.

In a notebook the charts draw themselves as SVG (`pipelines.charts.drawn`), for Altair's own way would load its script
from the network. Any other renderer that is enabled, before or after, wins.
"""

from pipelines.charts.calibrations import calibration
from pipelines.charts.courses import course
from pipelines.charts.drawn import enable_renderer, to_svg
from pipelines.charts.lifecycles import lifecycle
from pipelines.charts.people import relationships
from pipelines.charts.weeks import week
from pipelines.charts.workflows import workflow

__all__ = ["calibration", "course", "lifecycle", "relationships", "to_svg", "week", "workflow"]

enable_renderer()

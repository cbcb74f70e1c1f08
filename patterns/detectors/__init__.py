"""The five detectors, one file each, and the tuple that lists them."""

from patterns.candidates import Detector
from patterns.detectors.association import PreferenceDetector, RelationshipDetector
from patterns.detectors.avoidance import AvoidanceDetector
from patterns.detectors.temporal import TemporalDetector
from patterns.detectors.workflow import WorkflowDetector

DETECTORS: tuple[Detector, ...] = (
    TemporalDetector(),
    PreferenceDetector(),
    RelationshipDetector(),
    WorkflowDetector(),
    AvoidanceDetector(),
)
"""In the order in which they run: each detector gets the events that those before it account for."""

__all__ = [
    "DETECTORS",
    "AvoidanceDetector",
    "PreferenceDetector",
    "RelationshipDetector",
    "TemporalDetector",
    "WorkflowDetector",
]

"""Everything that touches the world: batch, command line, settings."""

from pipelines.batch import Detection, detect

__all__ = ["Detection", "detect"]

"""From observations to patterns: five detectors, significance, confidence, lifecycle. Pure functions."""

"""Detectors: each proposes candidates of one pattern type (`patterns.registry` lists them)."""

"""The five detectors, one file each."""

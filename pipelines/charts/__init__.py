"""Pictures of patterns: each function returns a chart object, to go on from."""

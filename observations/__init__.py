"""What happened: the observation, its frame, its wall clock, and the readers that get it from exports."""

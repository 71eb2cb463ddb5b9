"""Numbers and their uncertainty. Nothing here knows a feature by its name."""

"""Whether a survey fits its plan, as a list to print."""

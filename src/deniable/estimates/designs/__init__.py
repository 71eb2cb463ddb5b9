"""Estimates of plans with blocks and arms: what each block and each arm says of a table, and how that is combined."""

"""Studies of statistics: how often intervals hold the truth, and how far tables are from it. Speed is in benchmarks."""

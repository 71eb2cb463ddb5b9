"""Single questions to counts or reports: differences between groups and between surveys, means, regressions."""

"""Counting inside a database: queries that group reports, and counts from what these return."""

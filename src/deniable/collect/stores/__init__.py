"""Stores of reports: what every store does, an append-only log in SQLite, and tables in PostgreSQL."""

"""Answers as people have them, read as what their questions take: words, nulls, multi-select columns, CSV files."""

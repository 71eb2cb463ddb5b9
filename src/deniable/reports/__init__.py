"""Randomized answers of many respondents: made from records, kept in Parquet, read again."""

"""The whole survey: one table of every question, fitted to all tables that were asked."""

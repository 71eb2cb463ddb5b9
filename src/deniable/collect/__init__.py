"""Collecting: reports arrive over HTTP or from pipes, are checked, stored durably, sealed by day and counted."""

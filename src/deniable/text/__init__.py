"""Text as people see it: its width, tables in a terminal, and progress of long work."""

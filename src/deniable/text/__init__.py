"""Text as people see it: display width, tables for a terminal, progress of long work, and words said in many places."""

"""Looking at files of plans, reports and counts: what is in them, what it promises, and how two plans differ."""

"""Two features: the strength of their association, the test of their independence, and rare answers merged."""

"""What is asked, how each answer is randomized, and what that promises: schema, protocols, plan."""

"""How often evidence occurs together: counted from reports, kept, added."""

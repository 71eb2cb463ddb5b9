"""Commands by which others can trust a plan: that clients keep to it, and that it is the one that was agreed to."""

"""Who should be asked what: blocks and shares that estimate the wanted tables best, by convex optimisation."""

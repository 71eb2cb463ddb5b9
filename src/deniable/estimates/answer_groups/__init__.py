"""Groups of answers: merged into one, left out, scored, contrasted; and strata that are weighted."""

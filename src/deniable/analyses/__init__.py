"""Questions about a whole survey: all pairs, two waves, regression, how many reports it takes."""

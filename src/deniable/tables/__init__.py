"""Tables of results: rows of numbers with what they are about, as they print, render in a notebook, pivot and plot."""

"""Charts of estimates and their confidence intervals, as SVG that stands inside a page."""

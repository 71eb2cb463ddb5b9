"""Pictures of numbers with their intervals, as SVG."""

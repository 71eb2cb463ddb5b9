"""Proper tables of many cells: products with the reports' second moments in closed form, and never their matrix."""

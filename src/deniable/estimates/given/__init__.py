"""Estimates conditioned on what is known: equalities as users give them, conditioning, and the group that it makes."""

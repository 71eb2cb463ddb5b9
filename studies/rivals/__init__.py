"""Other systems' ways from randomized reports to tables, each written anew from its paper, for comparison alone."""

from studies.rivals.side_by_side import run

__all__ = ["run"]

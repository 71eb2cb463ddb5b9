"""The command line."""

from deniable.cli.cli import main as main

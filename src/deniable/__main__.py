"""`python -m deniable` is the command line."""

import sys

from deniable.cli import main

sys.exit(main())

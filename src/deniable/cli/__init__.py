"""The command line `deniable`: each command opens files, calls the library and prints.

`program` runs a command and turns its end into an exit status; `parser` lists the commands in the order of the flow.
The other modules hold the commands, each with its arguments and its function side by side. They import the library
inside their functions, so that `deniable --help` answers at once.
"""

from deniable.cli.program import main as main

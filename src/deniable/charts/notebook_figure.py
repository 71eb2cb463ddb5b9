"""A matplotlib figure that a notebook shows by itself. Importing this module imports matplotlib."""

from io import BytesIO

from matplotlib.figure import Figure

# SHARP is how many dots an inch of a picture in a notebook has; it is shown at the size of its inches.
SHARP = 100


class NotebookFigure(Figure):
    """A figure that needs no `pyplot`, so that none is left open, and that a notebook shows as a picture."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi=SHARP)
        return file.getvalue()

"""How the site is built: Markdown with MyST, the furo theme, and nothing that is loaded from the network."""

import re
from typing import Any

import numpy.typing as npt
from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import deniable

project = "deniable"
release = version = deniable.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # the same anchors as a code host makes

html_theme = "furo"
html_title = f"deniable {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"  # every browser of today draws it, without a script
html_copy_source = False
html_show_copyright = html_show_sphinx = False
pygments_style, pygments_dark_style = "a11y-light", "a11y-dark"

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
highlight_language = "none"  # of blocks that do not say it: formulas
default_role = "code"  # single backticks in docstrings are code
toc_object_entries_show_parents = "hide"
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!deniable\.).*"),  # other libraries' names, and aliases such as Array
    ("py:class", r"deniable\..*\.E"),  # the type variable of functions that give an estimate of the same kind back
]

NAME = re.compile(r"deniable(\.\w+)+")


class ArrayLike:
    """What signatures are to say, instead of the long union that numpy's name stands for."""

    def __class_getitem__(cls, _kind: Any) -> type:
        return cls


npt.ArrayLike = ArrayLike  # before deniable's modules, which are imported when they are first used, look at it
npt.NDArray = type("ndarray", (ArrayLike,), {"__module__": "numpy"})


def public_name(_app: Sphinx, env: Any, node: Any, content: Any) -> Any:
    """Classes are documented where users find them: `deniable.survey.schema.Schema` is shown as `deniable.Schema`."""
    name = node["reftarget"].rpartition(".")[2]
    if node.get("refdomain") != "py" or name not in deniable.__all__ or node["reftarget"] == f"deniable.{name}":
        return None
    return env.domains["py"].resolve_xref(
        env, node["refdoc"], env.app.builder, node["reftype"], f"deniable.{name}", node, content
    )


def as_written(_app: Sphinx, what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: indented lines are formulas, stars and bars are meant, single backticks are code.

    Only numpydoc's sections (Parameters, Returns, Examples) are read as markup, later, by napoleon. A module's
    docstring stands under its name.
    """
    found = [f".. rubric:: {name}", ""] if what == "module" else []
    sections = code = False
    for line in lines:
        sections = sections or (line != "" and set(line) == {"-"})
        code = line != "" and (code or line.lstrip().startswith(">>>"))  # an example and what it prints
        formula = line.startswith("    ") and not sections
        if formula and not any(found[-1:]) and not "".join(found[-2:-1]).startswith("    "):
            found += ["::", ""]
        found.append(line if formula or code else _escaped(line))
    lines[:] = found


def _escaped(line: str) -> str:
    """A line of prose in which only single backticks mean something."""
    parts = line.split("`")
    parts[::2] = [re.sub(r"([*|\\])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


class LinkedNames(SphinxTransform):
    """Names such as `deniable.inference.tensors.invert` in the pages lead to their documentation."""

    default_priority = 5

    def apply(self, **_: Any) -> None:
        """Wrap each of them in a reference that must resolve."""
        for node in list(self.document.findall(nodes.literal)):
            if NAME.fullmatch(node.astext()) and not isinstance(node.parent, nodes.reference | addnodes.pending_xref):
                names = {"refdomain": "py", "reftype": "obj", "reftarget": node.astext(), "refexplicit": True}
                link = addnodes.pending_xref("", refdoc=self.env.docname, refwarn=True, **names)
                node.replace_self(link)
                link += node


def inline_math(self: Any, node: Any) -> None:
    """A formula in a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block_math(self: Any, node: Any) -> None:
    """A formula by itself, which scrolls if the window is narrow."""
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Mathematics as MathML, docstrings as they are written, and names that link."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline_math, None), block_renderers=(block_math, None))
    app.add_transform(LinkedNames)
    app.connect("missing-reference", public_name)
    app.connect("autodoc-process-docstring", as_written, priority=400)  # before napoleon

"""Sphinx settings of the documentation; `make docs` builds it with warnings as errors.

Sphinx with MyST and furo, because all three had a release within the last year that runs on Python 3.11, and Sphinx
checks every cross-reference. (The last release of MkDocs is of August 2024; its successor is still a 0.x.)
"""

project = "habitus"
author = "The habitus developers"
copyright = author  # noqa: A001  the name that Sphinx reads

extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["assets"]

myst_heading_anchors = 3
nitpicky = True

html_theme = "furo"
html_title = "habitus"
html_show_sourcelink = False
html_copy_source = False

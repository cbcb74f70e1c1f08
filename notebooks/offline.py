"""For nbconvert: pages that load nothing from the network, neither MathJax nor require.js."""

c = get_config()  # type: ignore[name-defined] # noqa: F821  traitlets hands it in
c.HTMLExporter.mathjax_url = ""
c.HTMLExporter.require_js_url = ""

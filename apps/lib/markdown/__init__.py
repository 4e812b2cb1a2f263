"""Untrusted Markdown, rendered and sanitised: READMEs of modules, docs of providers (D17).

`rendering.render(source, place)` returns safe HTML; the `links.Place` limits the targets of links and images.
"""

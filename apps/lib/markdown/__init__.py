"""Other people's Markdown, rendered and sanitised: READMEs of modules, documentation of providers (D17).

`rendering.render(source, place)` gives safe HTML; the `links.Place` says where its links and images may lead.
"""

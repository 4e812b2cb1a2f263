"""The page types of the dependency graph (see tests/browser/page_types.py)."""

from tests.browser.catalogue import SPACE

NO_PAGES: set[str] = set()
PAGES = {
    "module-graph": [
        ({"namespace": SPACE, "name": name, "system": system}, "")
        for name, system in (("network", "aws"), ("label", "null"), ("poor", "null"))
    ],
    "provider-graph": [({"namespace": SPACE, "type": "dns"}, "")],
}

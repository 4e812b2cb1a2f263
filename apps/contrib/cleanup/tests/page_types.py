"""The page types of cleanup (see tests/browser/page_types.py)."""

from tests.browser.catalogue import SPACE

PAGES = {"namespace-cleanup": [({"namespace": SPACE}, ""), ({"namespace": SPACE}, "?show=all")]}
NO_PAGES = {"namespace-cleanup-apply"}

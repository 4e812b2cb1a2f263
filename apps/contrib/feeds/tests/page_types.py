"""The routes of feeds and badges that are no pages (see tests/browser/page_types.py)."""

NO_PAGES = {
    "module-badge",
    "provider-badge",
    "module-feed",
    "provider-feed",
    "namespace-feed",
}

"""The routes of OpenID Connect: none is a page (see tests/browser/page_types.py)."""

NO_PAGES = {"sign-on-callback", "sign-on-logout"}

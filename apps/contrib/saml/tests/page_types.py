"""The routes of SAML: none is a page (see tests/browser/page_types.py)."""

NO_PAGES = {"saml-acs", "saml-finish", "saml-metadata"}

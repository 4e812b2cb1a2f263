"""The page types of trusted publishers (see tests/browser/page_types.py)."""

from tests.browser.catalogue import SPACE

PAGES = {
    "namespace-ci": [({"namespace": SPACE}, "")],
    "trusted-publishers": [({"namespace": SPACE}, "")],
    "trusted-publisher-add": [({"namespace": SPACE}, f"?kind={kind}") for kind in ("github", "buildkite", "oidc")],
    "trusted-publisher-delete": [({"namespace": SPACE, "publisher_id": lambda shelf: shelf.known["publisher"]}, "")],
}
NO_PAGES = {"trusted-publishers-only"}

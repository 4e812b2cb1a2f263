"""The page types of checks (see tests/browser/page_types.py)."""

from tests.browser.catalogue import SPACE

NETWORK = {"namespace": SPACE, "name": "network", "system": "aws", "version": "2.0.0"}
PAGES = {
    "module-checks": [(NETWORK, query) for query in ("", "?check=tofu-test", "?check=plain")],
    "provider-checks": [({"namespace": SPACE, "type": "dns", "version": "1.0.0"}, "")],
    "namespace-checks": [({"namespace": SPACE}, "")],
}
NO_PAGES = {"release-waive-checks"}

"""The page types of the usage builder (see tests/browser/page_types.py)."""

from tests.browser.catalogue import SPACE

FULL = {"namespace": SPACE, "name": "network", "system": "aws", "version": "2.0.0"}
POOR = {"namespace": SPACE, "name": "poor", "system": "null", "version": "1.0.0"}
HOSTILE = {"namespace": SPACE, "name": "hostile", "system": "null", "version": "1.0.0"}
NO_PAGES: set[str] = set()
PAGES = {
    "module-usage": [
        *((names, "") for names in (FULL, POOR, HOSTILE)),
        (FULL, "?i.name=x&i.cidr_block=%5B&folder="),
        (FULL, "?folder=modules/subnets"),
    ]
}

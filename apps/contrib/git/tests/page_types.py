"""The page types of Git repositories (see tests/browser/page_types.py)."""

from tests.browser.catalogue import SPACE

GIT = {"namespace": SPACE, "repository_id": lambda shelf: shelf.known["git"][0]}
PAGES = {
    "git-repositories": [({"namespace": SPACE}, "")],
    "git-connect": [({"namespace": SPACE}, "")],
    "git-repository": [(GIT, query) for query in ("", "?verdict=moved", "?q=nothing-is-called-so")],
    "git-plan": [({**GIT, "repository_id": lambda shelf, at=at: shelf.known["git"][at]}, "") for at in (1, 2, 3)],
    "git-key": [(GIT, "")],
    "git-change": [(GIT, "")],
    "git-credential": [(GIT, "")],
    "git-host-keys": [(GIT, "")],
    "git-hook-secret": [(GIT, "")],
    "git-disconnect": [(GIT, "")],
}
NO_PAGES = {
    "git-look",
    "git-scan",
    "git-sync",
    "git-retry",
    "git-hook-renew",
}

"""The log of what git did: one line for each listing and fetch, and nothing secret."""

from typing import Any

from structlog.testing import capture_logs

from apps.contrib.git.tests.conftest import Connect, Git
from tests.builders.git_servers import Repository, Site

SECRET = "sesame-token-of-dora"  # of a server in this process


def of(logged: list[Any], event: str) -> list[dict[str, Any]]:
    return [{**line} for line in logged if line["event"] == event]


def test_each_listing_and_each_fetch_is_one_line(git: Git, upstream: Repository):
    upstream.tag("v1.0.0")
    with capture_logs() as logged:
        git.sync()

    [listing] = of(logged, "git_listing")
    [fetch] = of(logged, "git_fetch")
    for line in (listing, fetch):
        assert line["log_level"] == "info"
        assert (line["repository"], line["url"]) == (git.repository.pk, git.repository.url)
        assert line["outcome"] == "done"
        assert line["bytes"] > 0
        assert line["seconds"] >= 0
    assert listing["tags"] == 1
    assert fetch["ref"] == "refs/tags/v1.0.0"
    assert of(logged, "git_tags_changed") == [
        {"event": "git_tags_changed", "log_level": "info", "repository": git.repository.pk}
        | {"new": 1, "changed": 0, "dropped": 0, "moved": 0, "deleted": 0}
    ]

    with capture_logs() as logged:
        git.sync()
    assert [line["event"] for line in logged if line["event"].startswith("git_")] == ["git_listing"]

    upstream.commit({"README.md": "# No module\n"})
    upstream.tag("v1.1.0")
    with capture_logs() as logged:
        assert git.sync()["v1.1.0"] == "refused"
    assert [line["outcome"] for line in of(logged, "git_fetch")] == ["done"], "it was fetched all the same"
    assert [line["code"] for line in of(logged, "git_tag_refused")] == ["no_module"]


def test_the_line_of_a_failure_has_its_code_and_no_secret(connect: Connect, upstream: Repository, site: Site):
    site.token = SECRET
    authorization = site.authorization
    git = connect(credential={"kind": "token", "token": SECRET, "username": "larder"})
    upstream.tag("v1.0.0")
    site.answer = lambda path: (500, {}, SECRET.encode()) if path.endswith("-pack") and "?" not in path else None
    with capture_logs() as logged:
        git.sync()
        site.token = "another"
        git.sync()

    assert [line["outcome"] for line in of(logged, "git_listing")] == ["done", "unauthorized"]
    assert [line["outcome"] for line in of(logged, "git_fetch")] == ["server_error"]
    assert SECRET not in str(logged)
    assert authorization not in str(logged)

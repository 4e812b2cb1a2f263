"""Forges: which one a URL is of, and where its pages are."""

from apps.contrib.git import forges
from apps.contrib.git.models import Forge
from apps.contrib.git.remote.remotes import parse
from tests.rows import for_each_row

C = "82b3d5ae"


@for_each_row(
    ("url", "forge"),
    [
        ("https://github.com/acme/vpc", "github"),
        ("git@github.com:acme/vpc.git", "github"),
        ("ssh://git@ssh.github.com:443/acme/vpc.git", "github"),
        ("https://acme.ghe.com/acme/vpc", "github"),
        ("https://github.acme.example/acme/vpc", "github"),
        ("https://git.github-enterprise.acme.example/acme/vpc", "github"),
        ("https://gitlab.com/acme/platform/vpc", "gitlab"),
        ("https://gitlab.acme.example/a/b/c/d", "gitlab"),
        ("https://codeberg.org/acme/vpc", "gitea"),
        ("https://forgejo.acme.example/acme/vpc", "gitea"),
        ("https://gitea:3000/acme/vpc", "gitea"),
        ("https://bitbucket.org/acme/vpc", "bitbucket"),
        ("https://bitbucket.acme.example/scm/acme/vpc.git", "git"),  # Data Center
        ("https://dev.azure.com/acme/team/_git/vpc", "azure"),
        ("git@ssh.dev.azure.com:v3/acme/team/vpc", "azure"),
        ("https://acme.visualstudio.com/team/_git/vpc", "azure"),
        ("https://git.acme.example/vpc.git", "git"),
        ("https://github.com.evil.example/acme/vpc", "github"),  # only a guess, which people see and may change
        ("https://notgithub.com/acme/vpc", "git"),
        ("https://10.0.0.1/acme/vpc", "git"),
    ],
)
def test_the_forge_is_guessed_from_the_host(url, forge):
    assert forges.guessed(parse(url)) == forge


GITHUB = "https://github.com/acme/vpc"
GITLAB = "/-/commit/82b3d5ae", "/-/tags/vpc%2Fv1.0.0%2B1"
AZURE = "/commit/82b3d5ae", "?version=GTvpc%2Fv1.0.0%2B1"


@for_each_row(
    ("forge", "url", "page", "commit", "tag"),
    [
        ("github", "git@github.com:acme/vpc.git", GITHUB, "/commit/82b3d5ae", "/tree/vpc/v1.0.0%2B1"),
        ("github", "ssh://git@ssh.github.com:443/acme/vpc", GITHUB, "/commit/82b3d5ae", "/tree/vpc/v1.0.0%2B1"),
        ("gitlab", "https://gl.acme.example:8443/a/b/vpc.git", "https://gl.acme.example:8443/a/b/vpc", *GITLAB),
        ("gitlab", "ssh://git@gl.acme.example:2222/a/b/vpc.git", "https://gl.acme.example/a/b/vpc", *GITLAB),
        ("gitea", "http://gitea.lan/a/vpc", "http://gitea.lan/a/vpc", "/commit/82b3d5ae", "/src/tag/vpc/v1.0.0%2B1"),
        (
            "bitbucket",
            "git@bitbucket.org:acme/vpc.git",
            "https://bitbucket.org/acme/vpc",
            "/commits/82b3d5ae",
            "/commits/tag/vpc/v1.0.0%2B1",
        ),
        ("azure", "git@ssh.dev.azure.com:v3/acme/team/vpc", "https://dev.azure.com/acme/team/_git/vpc", *AZURE),
        ("azure", "git@ssh.dev.azure.com:v3/acme/a%20team/vpc", "https://dev.azure.com/acme/a%20team/_git/vpc", *AZURE),
        ("azure", "ssh://git@ssh.dev.azure.com/v3/a/a%20b/vpc", "https://dev.azure.com/a/a%20b/_git/vpc", *AZURE),
        ("azure", "a@vs-ssh.visualstudio.com:v3/a/team/vpc", "https://a.visualstudio.com/team/_git/vpc", *AZURE),
        ("git", "https://git.acme.example/vpc.git", "", "", ""),
    ],
)
def test_pages_are_those_of_the_forge(forge, url, page, commit, tag):
    remote = parse(url)

    assert forges.page_of(forge, remote) == page
    assert forges.commit_page(forge, remote, C) == page + commit
    assert forges.tag_page(forge, remote, "vpc/v1.0.0+1") == page + tag


@for_each_row("forge", Forge)
def test_people_are_told_where_to_add_a_webhook_and_a_key(forge):
    remote = parse("https://host.acme.example/acme/team/_git/vpc")
    for sentence, page in (forges.where_to_hook(forge, remote), forges.where_to_add_key(forge, remote)):
        assert sentence.endswith(".")
        assert page == "" or page.startswith("https://host.acme.example/acme/team/")
        assert "{" not in page
    assert forges.where_to_hook("azure", remote)[1] == "https://host.acme.example/acme/team/_settings/serviceHooks"


@for_each_row("tag", ['"><script>', "../..", "a?b#c", "a b", "ü"])
def test_a_tag_cannot_lead_elsewhere(tag):
    page = forges.tag_page("github", parse("https://github.com/acme/vpc"), tag)

    assert page.startswith("https://github.com/acme/vpc/tree/")
    assert not set(page) & set('"<>#? ')

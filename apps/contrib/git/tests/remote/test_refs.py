"""Lists of tags, of real servers over https."""

import pytest

from apps.contrib.git.remote import refs, remotes
from apps.contrib.git.remote.access import Limits
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.tests.remote.asking import access_to, remote_of
from tests.builders.git_daemons import nginx_site
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git")


def test_tags_come_with_their_commits_and_the_objects_of_annotated_ones(site, limits):
    vpc = site.repository("acme/vpc")
    first = vpc.commit({"main.tf": "1"})
    vpc.tag("v1.0.0")
    second = vpc.commit({"main.tf": "2"})
    annotated = vpc.tag("network/v1.1.0", message="Second")

    listing = refs.listed(remote_of(site, "acme/vpc"), access_to(site), limits)

    assert listing.tags == (Ref("network/v1.1.0", second, annotated), Ref("v1.0.0", first))
    assert (listing.head, listing.remote) == (second, remote_of(site, "acme/vpc"))


@pytest.mark.needs("nginx", "fcgiwrap")
def test_they_come_through_nginx_too(tmp_path, limits):
    with nginx_site(tmp_path / "nginx") as site:
        commit = site.repository("acme/vpc").commit({"main.tf": ""})
        site.repository("acme/vpc").tag("v1.0.0")

        assert refs.listed(remote_of(site, "acme/vpc"), access_to(site), limits).tags == (Ref("v1.0.0", commit),)


def test_an_empty_repository_has_no_tags_and_one_whose_head_leads_to_no_branch_still_has(site, limits):
    vpc = site.repository("acme/vpc")
    listing = refs.listed(remote_of(site, "acme/vpc"), access_to(site), limits)
    assert (listing.tags, listing.head) == ((), "")

    commit = vpc.commit({"main.tf": ""})
    vpc.tag("v1.0.0")
    vpc.run("symbolic-ref", "HEAD", "refs/heads/elsewhere")
    listing = refs.listed(remote_of(site, "acme/vpc"), access_to(site), limits)
    assert (listing.tags, listing.head) == ((Ref("v1.0.0", commit),), "")


def test_a_redirect_to_the_name_with_git_is_followed(site, limits):
    site.repository("acme/vpc").commit({"main.tf": ""})
    short = remote_of(site, "acme/vpc").url.removesuffix(".git")
    site.answer = lambda path: (
        (301, {"Location": path.replace("/info", ".git/info", 1)}, b"") if ".git/" not in path else None
    )

    listing = refs.listed(
        remotes.Remote("https", "localhost", remote_of(site, "acme/vpc").port, "/acme/vpc"), access_to(site), limits
    )

    assert listing.remote.url == f"{short}.git"


def test_ten_thousand_tags_are_listed_and_one_more_than_the_limit_is_refused(site, refusal):
    vpc = site.repository("acme/vpc")
    commit = vpc.commit({"main.tf": ""})
    (vpc.path / "packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n"
        + "".join(f"{commit} refs/tags/v1.0.{number:05}\n" for number in range(10_000))
    )

    assert len(refs.listed(remote_of(site, "acme/vpc"), access_to(site), Limits(refs=10_000)).tags) == 10_000
    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), Limits(refs=9_999))
    assert (refused.code, refused.is_final) == ("too_many_tags", True)
    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), Limits(refs_bytes=100_000))
    assert (refused.code, refused.is_final) == ("too_large", True)


def test_names_like_options_and_names_that_are_not_utf_8_are_listed_as_they_are(site, limits):
    vpc = site.repository("acme/vpc")
    commit = vpc.commit({"main.tf": ""})
    names = [b"--upload-pack=touch x", b"-v1.0.0", b"caf\xe9", "café".encode(), b"x'; rm -rf y"]
    lines = sorted(b"%s refs/tags/%s\n" % (commit.encode(), name.replace(b" ", b"_")) for name in names)
    (vpc.path / "packed-refs").write_bytes(b"# pack-refs with: peeled fully-peeled sorted \n" + b"".join(lines))

    tags = refs.listed(remote_of(site, "acme/vpc"), access_to(site), limits).tags

    assert {tag.name for tag in tags} == {"--upload-pack=touch_x", "-v1.0.0", "caf\\xe9", "café", "x';_rm_-rf_y"}
    assert [tag.name for tag in tags if not tag.is_text] == ["caf\\xe9"]


@for_each_row(
    ("given", "hint"),
    [("", "connect it with a token"), ("Bearer other-token", "may have expired"), ("Basic bG9uZ3Rva2Vu", "expired")],
)
def test_a_refused_credential_is_named_and_never_shown(site, limits, refusal, given, hint):
    site.token = "the-right-token"
    site.repository("acme/vpc")

    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site, authorization=given), limits)

    assert (refused.code, refused.is_final) == ("unauthorized", True)
    assert hint in refused.hint
    assert "token" not in str(refused).replace("the token", "")


def test_what_is_not_there_or_not_trusted_says_so_and_whether_it_may_be_asked_again(site, limits, refusal):
    refused = refusal(refs.listed, remote_of(site, "acme/none"), access_to(site), limits)
    assert (refused.code, str(refused)) == ("not_found", "localhost has no repository acme/none.")

    site.is_down = True
    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), limits)
    assert (refused.code, refused.is_final) == ("server_error", False)

    site.ca_file = ""  # a certificate of an authority that nobody named
    refused = refusal(refs.listed, remote_of(site, "acme/vpc"), access_to(site), limits)
    assert refused.code == "not_trusted"
    assert "LARDER_OUTGOING_CA_FILE" in refused.hint

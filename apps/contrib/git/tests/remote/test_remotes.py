"""URLs that people paste for a repository: what is refused before anything is called."""

import pytest

from apps.contrib.git.remote import remotes
from apps.lib.errors import Invalid
from tests.rows import for_each_row


@for_each_row(
    "text",
    [
        "ssh://-oProxyCommand=reboot/acme/vpc",
        "ssh://git@-oProxyCommand=reboot/acme/vpc",
        "https://-x.example/acme/vpc",
        "git@-x.example:acme/vpc",
        "ssh://-oProxyCommand@a.example/acme/vpc",
        "-oProxyCommand@a.example:acme/vpc",
        "ssh://@a.example/acme/vpc",
        "ssh://%2doProxyCommand@a.example/acme/vpc",
    ],
)
def test_a_host_or_a_user_that_begins_like_an_option_is_refused(text):
    with pytest.raises(Invalid, match="begins like an option"):
        remotes.parse(text)


@for_each_row(
    "text",
    [
        "https://a.example/acme/vpc?ref=v1",
        "https://a.example/acme/vpc#v1",
        "ssh://git@a.example/acme/vpc?ref=v1",
        "git@a.example:acme/vpc?ref=v1",
        "git@a.example:acme/vpc#v1",
    ],
)
def test_a_query_or_a_fragment_is_refused(text):
    with pytest.raises(Invalid, match="query or fragment"):
        remotes.parse(text)


@for_each_row(
    "text",
    [
        "https://alice@a.example/acme/vpc",
        "https://alice:pears@a.example/acme/vpc",
        "ssh://alice:pears@a.example/acme/vpc",
        "https://:pears@a.example/acme/vpc",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_repeated(text):
    with pytest.raises(Invalid, match="user name or password") as refused:
        remotes.parse(text)
    assert "pears" not in f"{refused.value} {refused.value.hint}"


@for_each_row(
    ("text", "said"),
    [
        ("", "is empty"),
        ("https://a.example/" + "a" * 500, "more than 500 characters"),
        ("https://a.example/caf\u00e9", "plain ASCII"),
        ("https://a.example/a b", "plain ASCII"),
        ("https://a.example/a\x07b", "plain ASCII"),
        ("https://a.example:port/acme", "cannot be read"),
        ("https://[a.example/acme", "cannot be read"),
        ("file:///etc/passwd", "expected https://"),
        ("ext::reboot", "expected https://"),
        ("git://a.example/acme/vpc", "expected https://"),
        ("/srv/git/vpc", "expected https://"),
        ("https:///acme/vpc", "expected https://"),
        ("https://a.example", "names no repository"),
        ("https://a.example//", "names no repository"),
        ("ssh://git@a.example/~", "names no repository"),
        ("https://a.example/acme/../../x", "names no repository"),
        ("git@a.example:-x", "names no repository"),
    ],
)
def test_all_else_is_refused_with_what_is_wrong(text, said):
    with pytest.raises(Invalid, match=said) as refused:
        remotes.parse(text)
    assert refused.value.hint


def test_what_is_no_url_stays_in_the_path():
    """Quoted, so that git and the server get what was pasted."""
    assert remotes.parse("https://a.example/a;b/c'd").url == "https://a.example/a;b/c'd"
    assert remotes.parse('https://a.example/a"b').url == "https://a.example/a%22b"

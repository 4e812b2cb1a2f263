"""Webhooks that are signed in more than one way, or with no secret at all."""

from dataclasses import replace

from apps.contrib.git import hooks
from apps.contrib.git.tests.hooks.sending import Hook, connected, send
from apps.contrib.git.tests.hooks.test_refusals import OF_EACH, refused
from tests.rows import for_each_row

# Headers that hold a signature or the secret itself.
SIGNED = ("X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature", "X-Forgejo-Signature", "X-Gitlab-Token")


def test_a_signing_token_of_gitlab_decides_if_both_are_sent(acme, listened):
    hook = Hook.recorded("gitlab_tag_push").signed()

    refused(connected(acme, hook), hook.signed_as_standard_webhooks("whsec_b3RoZXI="), 401, "wrong_signature")
    assert listened == []


@for_each_row("name", ["github_push_tag", "gitea_push_tag", "bitbucket_push_tag", "gitlab_tag_push"])
def test_two_signatures_in_one_header_are_none(acme, listened, name):
    """A server joins a header that was sent twice, whichever comes first."""
    hook = Hook.recorded(name)
    repository, right, wrong = connected(acme, hook), hook.signed(), hook.signed("whsec_b3RoZXI=")
    for one, other in ((right, wrong), (wrong, right), (right, right)):
        both = {header: f"{text},{other.headers[header]}" for header, text in one.headers.items() if header in SIGNED}
        refused(repository, replace(one, headers={**one.headers, **both}), 401, "wrong_signature")
    assert listened == []


@for_each_row("name", [*OF_EACH, "gitlab_tag_push with a signing token"])
def test_an_empty_secret_is_that_of_nobody(acme, listened, name):
    """The row was written by another hand: with an empty key everyone can sign."""
    hook = Hook.recorded(name.partition(" ")[0])
    repository = connected(acme, hook)
    repository.sealed_hook_secret = hooks.seal("", repository.hook_id)
    repository.save()
    signed = hook.signed("") if " " not in name else hook.signed_as_standard_webhooks("")

    assert send(repository, signed).status_code == 401
    assert listened == []


def test_the_secret_under_another_scheme_is_refused(acme, listened):
    hook = Hook.recorded("azure_push_tag").signed()
    other = hook.headers["Authorization"].replace("Basic", "Digest")

    refused(connected(acme, hook), hook.with_headers(Authorization=other), 401, "wrong_signature")

"""The differences between forges: one declaration each. Everything else in this room treats them alike.

Sources, as of November 2026: GitHub docs (Validating webhook deliveries; Webhook events and payloads; Authenticating as
an installation), GitLab docs (Webhooks; Webhook events; merge request 230944 for signing tokens), docs.gitea.com and
forgejo.org/docs (Webhooks), Atlassian support (Event payloads; Manage webhooks; Repository access tokens), Microsoft
Learn (Service hooks events; Webhooks; Use personal access tokens).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from apps.contrib.git import signatures
from apps.contrib.git.models import Forge
from apps.contrib.git.remote import remotes
from apps.contrib.git.remote.remotes import Remote
from apps.contrib.git.signatures import Sent
from apps.lib.errors import Invalid

TAGS = "refs/tags/"
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Vendor:
    """`hosts`: their own, and how others name theirs. `commit` and `tag`: pages below that of the repository, with
    {commit} and {tag}. `user`: beside a token. `is_genuine` checks a webhook with the secret; `signed_by` is how, for
    people. `delivery` reads its number, `event` what happened, `is_push` whether tags may have changed, and `names`
    which repositories the body names, as full names and URLs. `tags` are those that it names as pushed, `pusher_ids`
    and `pusher_addresses` say by whom: a login or name is none, because it can change hands. `hook` and `key` say where
    people add a webhook and a deploy key.
    """

    hosts: re.Pattern[str]
    is_genuine: Callable[[Sent, str], bool]
    event: Callable[[Sent, Body], str]
    is_push: Callable[[str, Body], bool]
    names: Callable[[Body], list[object]]
    signed_by: str
    user: str = "git"
    commit: str = ""
    tag: str = ""
    delivery: Callable[[Sent, Body], str] = lambda _sent, _body: ""
    tags: Callable[[str, Body], list[str]] = lambda _event, _body: []
    pusher_ids: Callable[[Body], list[object]] = lambda _: []
    pusher_addresses: Callable[[Body], list[object]] = lambda _: []
    hook_page: str = ""
    hook: str = ""
    key_page: str = ""
    key: str = ""


def guessed(remote: Remote) -> Forge:
    """By the host, which people name after the product. Bitbucket Data Center is another product than Bitbucket."""
    return next((forge for forge, vendor in VENDORS.items() if vendor.hosts.fullmatch(remote.host.lower())), Forge.GIT)


def page_of(forge: str, remote: Remote) -> str:
    """Return the repository's page, without a slash at its end; empty for a plain Git server and a registry."""
    if not VENDORS[Forge(forge)].commit:
        return ""
    host, name = _SSH_HOSTS.get(remote.host, remote.host), remote.name
    if forge == Forge.AZURE:
        host, name = _azure_page(host, name)
    port = ""
    scheme = "https"
    if remote.scheme != "ssh":  # the port of ssh says nothing about that of the pages
        scheme = remote.scheme
        port = remote.port_suffix
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{port}/{name}"


def commit_page(forge: str, remote: Remote, commit: str) -> str:
    """Empty if there is none."""
    return _below(forge, remote, VENDORS[Forge(forge)].commit, commit=commit)


def tag_page(forge: str, remote: Remote, tag: str) -> str:
    """Empty if there is none."""
    safe = "" if forge in (Forge.GITLAB, Forge.AZURE) else "/"
    return _below(forge, remote, VENDORS[Forge(forge)].tag, tag=quote(tag, safe=safe))


def user_of(forge: str, token: str) -> str:
    """Return the user name for Basic authentication with a token."""
    # Atlassian's API tokens, which are a person's, begin with ATATT, and those of a repository or workspace with ATCTT.
    if forge == Forge.BITBUCKET and token.startswith("ATATT"):
        return "x-bitbucket-api-token-auth"
    return VENDORS[Forge(forge)].user


def where_to_hook(forge: str, remote: Remote) -> tuple[str, str]:
    """Return a sentence about where a webhook is added, and the page; empty for a plain Git server."""
    vendor = VENDORS[Forge(forge)]
    return vendor.hook, _below(forge, remote, vendor.hook_page)


def where_to_add_key(forge: str, remote: Remote) -> tuple[str, str]:
    """Return a sentence about where a deploy key is added, and the page, which may be empty."""
    vendor = VENDORS[Forge(forge)]
    return vendor.key, _below(forge, remote, vendor.key_page)


def github_api(remote: Remote) -> str:
    """Return the base URL of GitHub's REST API: of github.com, of a company on ghe.com, or of an Enterprise Server."""
    host = _SSH_HOSTS.get(remote.host, remote.host)
    if host == "github.com" or host.endswith(".ghe.com"):
        return f"https://api.{host}"
    return f"{page_of(Forge.GITHUB, remote).removesuffix(remote.name)}api/v3"


def is_named(remote: Remote, names: Iterable[object]) -> bool:
    """Return whether one of the names or URLs in a body is this repository. Forges do not tell upper and lower case
    apart.
    """
    own = _comparable(remote)
    return any(own == _name_of(name) for name in names if isinstance(name, str) and name)


def _name_of(text: str) -> str:
    """From acme/vpc, or from any URL of the repository, in which some forges write a user name."""
    if "://" in text:
        try:
            parts = urlsplit(text)
        except ValueError:
            return ""
        text = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    elif "@" not in text:
        return _folded(text)
    try:
        return _comparable(remotes.parse(text))
    except Invalid:
        return ""


def _comparable(remote: Remote) -> str:
    if guessed(remote) == Forge.AZURE:
        host, name = _azure_page(remote.host, remote.name)
        organisation = host.removesuffix(".visualstudio.com")
        name = _folded(name if organisation == "dev.azure.com" else f"{organisation}/{name}")
        name = name.replace("/defaultcollection/", "/", 1)
        # A repository named like its project has a short URL without the project.
        return re.sub(r"^([^/]+)/_git/([^/]+)$", r"\1/\2/_git/\2", name)
    return _folded(remote.name)


def _folded(name: str) -> str:
    return unquote(name).strip("/").removesuffix(".git").casefold()


def _azure_page(host: str, name: str) -> tuple[str, str]:
    """Of ssh: v3/organisation/project/repository. Its short form writes a blank as %20, which ssh sends as it is."""
    parts = name.split("/")
    if parts[0] == "v3" and len(parts) == 4:  # noqa: PLR2004
        _, organisation, project, repository = (quote(unquote(part), safe="%") for part in parts)
        if host.endswith("visualstudio.com"):
            return f"{organisation}.visualstudio.com", f"{project}/_git/{repository}"
        return "dev.azure.com", f"{organisation}/{project}/_git/{repository}"
    return host, name


def _below(forge: str, remote: Remote, path: str, **values: str) -> str:
    page = page_of(forge, remote)
    if not page or not path:
        return ""
    more: dict[str, str] = {}
    if "{project}" in path:  # of Azure
        page, _, more["repository"] = page.partition("/_git/")
        more["project"] = page
    return path.format(page=page, **more, **values)


# --- Bodies -----------------------------------------------------------------------------------------------------------


def _get(body: Body, *path: str) -> Any:
    """Return the value at the path; None if the body has another shape."""
    found: Any = body
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _headers(*names: str) -> Callable[[Sent, Body], str]:
    """The first of these headers that came."""
    return lambda sent, _: next(filter(None, map(sent.header, names)), "")


def _fields(*paths: str) -> Callable[[Body], list[object]]:
    return lambda body: [_get(body, *path.split(".")) for path in paths]


def _is_tag(ref: object) -> bool:
    return isinstance(ref, str) and ref.startswith(TAGS)


def _github_push(event: str, body: Body) -> bool:
    """A push of a branch as well: GitHub sends no event for tags of which more than three are pushed at once."""
    return (event == "push" and isinstance(body.get("ref"), str)) or (
        event in ("create", "delete") and body.get("ref_type") == "tag"
    )


def _gitea_push(event: str, body: Body) -> bool:
    if event == "push":
        return _is_tag(body.get("ref"))
    return event in ("create", "delete") and body.get("ref_type") == "tag"


def _tag_of_ref(event: str, body: Body) -> list[str]:
    """`create` names it without refs/tags/. One that was deleted is not pushed."""
    ref = body.get("ref")
    if set(str(body.get("after"))) == {"0"}:
        return []
    if event == "create" and body.get("ref_type") == "tag":
        return [ref] if isinstance(ref, str) else []
    return [ref.removeprefix(TAGS)] if isinstance(ref, str) and _is_tag(ref) else []


def _gitlab_push(event: str, body: Body) -> bool:
    """A push of a branch too: GitLab sends no event for tags of which more than push_event_hooks_limit come at once."""
    return event in ("tag_push", "push") and isinstance(body.get("ref"), str)


def _bitbucket_push(event: str, body: Body) -> bool:
    """`new` is null for a deleted tag, `old` for one that was made."""
    changes = _get(body, "push", "changes")
    ends = [_get(change, end, "type") for change in changes for end in ("new", "old")] if _is_list(changes) else []
    return event == "repo:push" and "tag" in ends


def _azure_push(event: str, body: Body) -> bool:
    return event == "git.push" and bool(_azure_tags(event, body))


def _azure_tags(_event: str, body: Body) -> list[str]:
    updates = _get(body, "resource", "refUpdates")
    names = [_get(update, "name") for update in updates] if _is_list(updates) else []
    return [name.removeprefix(TAGS) for name in names if isinstance(name, str) and _is_tag(name)]


def _is_list(found: object) -> bool:
    return isinstance(found, list)


_SSH_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
_REPOSITORY = (
    "repository.full_name",
    "repository.clone_url",
    "repository.ssh_url",
    "repository.html_url",
)
VENDORS = {
    Forge.GITHUB: Vendor(
        hosts=re.compile(r"(?:ssh\.)?github\.com|.+\.ghe\.com|(?:[a-z0-9-]+\.)*(?:github|ghe)[a-z0-9-]*(?:\..+)?"),
        is_genuine=signatures.github,
        signed_by="X-Hub-Signature-256",
        event=_headers("X-GitHub-Event"),
        is_push=_github_push,
        names=_fields(*_REPOSITORY),
        user="x-access-token",
        commit="{page}/commit/{commit}",
        tag="{page}/tree/{tag}",
        delivery=_headers("X-GitHub-Delivery"),
        tags=_tag_of_ref,
        pusher_ids=_fields("sender.id"),
        pusher_addresses=_fields("pusher.email"),
        hook_page="{page}/settings/hooks/new",
        hook="In GitHub, open the repository's Settings, Webhooks. Choose the content type application/json and the "
        "push event. If you cannot open the settings, polling finds your tags without a webhook.",
        key_page="{page}/settings/keys/new",
        key="In GitHub, open the repository's Settings, Deploy keys. Leave “Allow write access” off.",
    ),
    Forge.GITLAB: Vendor(
        hosts=re.compile(r"(?:altssh\.)?gitlab\.com|(?:[a-z0-9-]+\.)*gitlab[a-z0-9-]*(?:\..+)?"),
        is_genuine=signatures.gitlab,
        signed_by="X-Gitlab-Token or webhook-signature",
        event=lambda _, body: str(body.get("event_name") or body.get("object_kind") or ""),
        is_push=_gitlab_push,
        names=_fields("project.path_with_namespace", "project.git_http_url", "project.git_ssh_url", "project.web_url"),
        user="oauth2",
        commit="{page}/-/commit/{commit}",
        tag="{page}/-/tags/{tag}",
        delivery=_headers("webhook-id", "Idempotency-Key", "X-Gitlab-Event-UUID"),
        tags=_tag_of_ref,
        pusher_ids=_fields("user_id"),
        pusher_addresses=_fields("user_email"),
        hook_page="{page}/-/hooks",
        hook="In GitLab, open the project's Settings, Webhooks. Enter the secret as the secret token or signing token, "
        "and choose tag push events.",
        key_page="{page}/-/settings/repository",
        key="In GitLab, open the project's Settings, Repository, Deploy keys. Leave write permissions off.",
    ),
    Forge.GITEA: Vendor(
        hosts=re.compile(r"gitea\.com|codeberg\.org|(?:[a-z0-9-]+\.)*(?:gitea|forgejo|codeberg)[a-z0-9-]*(?:\..+)?"),
        is_genuine=signatures.gitea,
        signed_by="X-Gitea-Signature or X-Forgejo-Signature",
        event=_headers("X-Forgejo-Event", "X-Gitea-Event"),
        is_push=_gitea_push,
        names=_fields(*_REPOSITORY),
        user="oauth2",
        commit="{page}/commit/{commit}",
        tag="{page}/src/tag/{tag}",
        delivery=_headers("X-Forgejo-Delivery", "X-Gitea-Delivery"),
        tags=_tag_of_ref,
        pusher_ids=_fields("pusher.id", "sender.id"),
        pusher_addresses=_fields("pusher.email", "sender.email"),
        hook_page="{page}/settings/hooks",
        hook="In Gitea or Forgejo, open the repository's Settings, Webhooks, and add one of the type Gitea or Forgejo "
        "with the content type application/json and the push, create and delete events.",
        key_page="{page}/settings/keys",
        key="In Gitea or Forgejo, open the repository's Settings, Deploy Keys. Leave write access off.",
    ),
    Forge.BITBUCKET: Vendor(
        hosts=re.compile(r"(?:altssh\.)?bitbucket\.org"),
        is_genuine=signatures.bitbucket,
        signed_by="X-Hub-Signature",
        event=_headers("X-Event-Key"),
        is_push=_bitbucket_push,
        names=_fields("repository.full_name", "repository.links.html.href"),
        user="x-token-auth",
        commit="{page}/commits/{commit}",
        tag="{page}/commits/tag/{tag}",
        delivery=_headers("X-Request-UUID"),
        hook_page="{page}/admin/webhooks",
        hook="In Bitbucket, open the repository settings, Webhooks. Enter the secret, and choose repository push.",
        key_page="{page}/admin/access-keys/",
        key="In Bitbucket, open the repository settings, Access keys. They only read.",
    ),
    Forge.AZURE: Vendor(
        hosts=re.compile(r"(?:ssh\.)?dev\.azure\.com|.+\.visualstudio\.com"),
        is_genuine=signatures.basic,
        signed_by="Authorization: Basic",
        delivery=lambda _, body: f"{body.get('subscriptionId')} {body.get('notificationId')} {body.get('id')}",
        tags=_azure_tags,
        pusher_addresses=_fields("resource.pushedBy.uniqueName"),
        event=lambda _, body: str(body.get("eventType") or ""),
        is_push=_azure_push,
        names=_fields("resource.repository.remoteUrl", "resource.repository.sshUrl", "resource.repository.webUrl"),
        user="larder",
        commit="{page}/commit/{commit}",
        tag="{page}?version=GT{tag}",
        hook_page="{project}/_settings/serviceHooks",
        hook="In Azure DevOps, open the project settings, Service hooks, and add Web Hooks for “Code pushed”. Enter "
        "any user name, and the secret as the password.",
        key="Azure DevOps has no deploy keys and supports only RSA keys: connect by https with an access token.",
    ),
    Forge.GIT: Vendor(
        hosts=re.compile(r"(?!)"),
        is_genuine=signatures.plain,
        signed_by="Authorization: Bearer or X-Hub-Signature",
        event=lambda _sent, _body: "push",
        is_push=lambda _event, _body: True,
        names=lambda _: [],
        hook="Have the server's post-receive hook call the URL with the header “Authorization: Bearer” and the secret. "
        "In Bitbucket Data Center, open the repository settings, Webhooks. Enter the secret, and choose Push.",
        key="On the server, add the key to ~/.ssh/authorized_keys of the user in the URL, restricted to reading this "
        "repository.",
    ),
    Forge.REGISTRY: Vendor(
        hosts=re.compile(r"(?!)"),
        is_genuine=lambda _sent, _secret: False,
        signed_by="",
        event=lambda _sent, _body: "",
        is_push=lambda _event, _body: False,
        names=lambda _: [],
        hook="Registries send no webhooks: Larder polls for new versions.",
        key="A module of another registry takes no credential: operators set the registry's token on its upstream.",
    ),
}
WITHOUT_WEBHOOKS = tuple(forge for forge, vendor in VENDORS.items() if not vendor.signed_by)

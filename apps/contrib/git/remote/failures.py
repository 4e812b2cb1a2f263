"""Failures in the words of git, ssh and HTTP: a stable code, a sentence, and how to fix it."""

import base64
import binascii
import re
from collections.abc import Iterable

from apps.contrib.git.remote import tls_faults
from apps.contrib.git.remote.access import Access, GitFailed
from apps.contrib.git.remote.remotes import Remote
from apps.lib.net.addresses import ALLOW_SETTING
from apps.lib.net.outgoing import PRIVATE_ADDRESS, NotAnswered

_MAX_TEXT = 300
_FINAL = {PRIVATE_ADDRESS, "bad_url", "bad_redirect", "redirect_loop", "too_many_redirects", "too_large"}
_HIDDEN = "***"

# What stands before curl's words: our URL, and then the files that it read.
_AT = re.compile(r"^fatal: unable to access '.*?': |[ (]+CAfile: .*$")
_METHODS = re.compile(r"Permission denied \((?P<methods>[a-z,-]{1,100})\)")

# In git's and ssh's own words (LC_ALL=C): the first that fits decides.
_SIGNS: tuple[tuple[str, str], ...] = (
    ("host_key_changed", r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key is known for|Host key verification failed"),
    ("no_common_algorithm", r"Unable to negotiate with|Bad server host key"),
    ("unauthorized", r"Permission denied|could not read (Username|Password)|Authentication failed|error: 40[13]\b"),
    ("unauthorized", r"Load key .*(invalid format|error in libcrypto)|terminal prompts disabled"),
    ("ref_gone", r"couldn't find remote ref"),
    ("too_large", r"File too large|died of signal 25|out of memory|exceeds? .*limit|unable to (m?alloc|mmap)"),
    ("bad_redirect", r"unable to update url base from redirection|error: 30[12378]\b"),
    ("not_found", r"[Rr]epository .*not (be )?found|does not appear to be a git repository|error: 4(04|10)\b"),
    ("protocol_refused", r"transport '[^']*' not allowed"),
    ("bad_object", r"fsck error|error: object [0-9a-f]{40,64}: |error in (tag|tree|commit|blob|object)"),
    ("incomplete", r"did not send all necessary objects|not our ref|unadvertised object|missing (tree|blob|commit)"),
    ("incomplete", r"did not receive expected object|unresolved deltas|bad object|not a valid object|Could not read"),
    (tls_faults.TLS_FAILED, r"unable to access '.*': .*([Cc]ertificate|SSL|TLS|gnutls)"),
    ("too_slow", r"[Oo]peration too slow|timed out|Timeout was reached"),
    ("unreachable", r"Connection refused|No route to host|Network is unreachable|Could(n't| not) (resolve|connect)"),
    ("server_error", r"error: 5\d\d\b"),
    ("truncated", r"early EOF|RPC failed|hung up|unexpected disconnect|transfer closed|Connection (closed|reset)|EOF"),
    ("dumb_http", r"dumb http|not valid: is this a git repository"),
)
_TEXTS: dict[str, tuple[str, str, bool]] = {
    "host_key_changed": (
        "The server showed another host key than the pinned ones.",
        "Compare its fingerprint with what the forge publishes, then trust the new key.",
        True,
    ),
    "no_common_algorithm": (
        "Larder and the ssh server have no algorithm in common.",
        "Have the server's administrator enable a current host key, such as Ed25519, and OpenSSH's default algorithms.",
        True,
    ),
    "ref_gone": ("The ref is not in the repository.", "If it was deleted there, push it again.", True),
    "too_large": ("The repository is larger than Larder accepts.", "Remove large files from the tagged commit.", True),
    "bad_redirect": ("The server redirected where Larder does not follow.", "Use the repository's final URL.", True),
    "protocol_refused": ("The URL has a protocol that is not allowed.", "Use https or ssh.", True),
    "bad_object": (
        "The repository has a damaged or hostile object.",
        "Run git fsck in a clone, repair the commit, and push a new tag.",
        True,
    ),
    "incomplete": (
        "The server did not send the objects that it lists.",
        "Run git fsck in the repository on the server.",
        False,
    ),
    "too_slow": ("The server was too slow.", "Try again later.", False),
    "unreachable": ("No connection to the server.", "Check that the server is up.", False),
    "server_error": ("The server failed.", "Try again later.", False),
    "truncated": ("The response of the server ended early.", "Try again later.", False),
    "dumb_http": (
        "The server has plain files of a repository, expected Git's smart protocol.",
        "Serve it with git http-backend, or use ssh.",
        True,
    ),
}


def unauthorized(remote: Remote, access: Access, methods: str = "") -> GitFailed:
    """Say which credential was refused. `methods`: those that an ssh server takes, such as publickey,password."""
    if methods and "publickey" not in methods.split(","):
        what = "a connection with a key, and takes only: " + methods.replace(",", ", ")
        hint = "Have the server's administrator allow public keys for this user, or connect the repository by https."
    elif remote.scheme == "ssh":
        what = "the deploy key" if access.private_key else "a connection without a key"
        hint = (
            "Add the repository's deploy key on the server, with read access."
            if access.private_key
            else "The server requires a key: use a deploy key as the credential."
        )
    elif access.authorization:
        what = "the token"
        hint = "It may have expired, or lack read access to this repository. Enter a new one."
    else:
        what, hint = "a request without credentials", "The repository is private: connect it with a token or key."
    return GitFailed("unauthorized", f"{remote.host} refused {what}.", hint=hint, is_final=True)


def not_found(remote: Remote, access: Access) -> GitFailed:
    """Forges say the same of a repository that does not exist and of one that the credential may not read."""
    if remote.scheme == "ssh":
        hint = "Check the URL, and that the deploy key was added to this repository."
    elif access.authorization:
        hint = "Check the URL, and that the token may read this repository."
    else:
        hint = "Check the URL. If the repository is private, connect it with a token or key."
    return GitFailed("not_found", f"{remote.host} has no repository {remote.name}.", hint=hint, is_final=True)


def of_status(status: int, remote: Remote, access: Access) -> GitFailed:
    """Explain an answer that is not 200."""
    if status in {401, 403}:
        return unauthorized(remote, access)
    if status in {404, 410}:
        return not_found(remote, access)
    text = f"{remote.host} answered {status}, expected 200."
    if status == 429:  # noqa: PLR2004
        return GitFailed("too_many_requests", text, hint="Larder tries again later.")
    if status >= 500:  # noqa: PLR2004
        return GitFailed("server_error", text, hint="Larder tries again later.")
    return GitFailed("bad_answer", text, hint="Check that the URL is that of a Git repository.", is_final=True)


def of_exchange(error: NotAnswered) -> GitFailed:
    """Explain why no answer came."""
    if error.tls:
        return tls_faults.explained(error.tls)
    hints = {
        PRIVATE_ADDRESS: f"An operator can allow the network with {ALLOW_SETTING}.",
        "unresolved": "Check the host in the URL.",
    }
    text = f"The repository was not read: {error}."
    return GitFailed(error.code, text, hint=hints.get(error.code, ""), is_final=error.code in _FINAL)


def of_output(errors: str, code: int, remote: Remote, access: Access) -> GitFailed:
    """Explain what git or ssh wrote. What the server wrote into it is printable, short, and holds no credential."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    own = "\n".join(line for line in lines if not line.startswith("remote:"))
    found = next((one for one, sign in _SIGNS if re.search(sign, own)), "")
    # Forges that speak ssh say so in a line of their own.
    if not found and re.search(r"not found|does not exist|could not be found", errors):
        found = "not_found"
    if found == "unauthorized":
        asked = _METHODS.search(own)
        return unauthorized(remote, access, asked["methods"] if asked else "")
    if found == "not_found":
        return not_found(remote, access)
    said = next((line for line in reversed(lines) if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    said = redacted(said, (access.authorization, access.private_key, access.proxy))
    if found == tls_faults.TLS_FAILED:
        return tls_faults.explained(_AT.sub("", said))
    if not found:
        text = f"git ended with code {code}: {said}" if said else f"git ended with code {code}."
        return GitFailed("git_failed", text)
    text, hint, is_final = _TEXTS[found]
    is_told = not said or found in {"host_key_changed", "ref_gone"}
    return GitFailed(found, text if is_told else f"{text} ({said})", hint=hint, is_final=is_final)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Return at most 300 printable characters without the secrets, their parts, and what these encode."""
    for secret in secrets:
        for part in sorted({*secret.split(), *_decoded(secret)}, key=len, reverse=True):
            if len(part) > 3:  # noqa: PLR2004  # not "git"
                text = text.replace(part, _HIDDEN)
    return "".join(mark if mark.isprintable() else " " for mark in text)[:_MAX_TEXT]


def _decoded(secret: str) -> list[str]:
    """Return the user and password of a Basic header, or of a URL."""
    if secret.startswith("Basic "):
        try:
            return base64.b64decode(secret[6:], validate=True).decode("utf-8", "replace").split(":", 1)
        except (binascii.Error, ValueError):
            return []
    return re.findall(r"//([^@/]*)@", secret)

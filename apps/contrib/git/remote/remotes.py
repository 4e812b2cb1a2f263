"""Parse the address of a repository that people paste: an https or ssh URL, or ssh's short form (git@host:path)."""

import re
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, quote, unquote, urlsplit

from apps.lib.errors import Invalid
from apps.lib.net.addresses import PORTS

MAX_URL_CHARACTERS = 500
HINT = "Use a URL such as https://github.com/acme/terraform-aws-vpc or git@github.com:acme/terraform-aws-vpc.git."
# git@host:path, which has no scheme. Unlike the path of a URL, it begins at the user's home unless it has a slash.
_SHORT = re.compile(r"(?P<user>[A-Za-z0-9._-]+)@(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(?P<path>[^:].*)", re.ASCII)
_HOME = "/~/"
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Remote:
    """`path` begins with a slash, and with /~/ for the home of ssh's user. `user` is that of ssh; a URL with
    credentials is refused.
    """

    scheme: str
    host: str
    port: int
    path: str
    user: str = ""

    @property
    def url(self) -> str:
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{self._bracketed}{self.port_suffix}{self.path}"

    @property
    def git_url(self) -> str:
        """The URL that git gets, with the port in ssh's configuration. Of a URL git would send the ~, which only Git's
        own servers understand.
        """
        return f"{self.user}@{self._bracketed}:{self.ssh_path}" if self.is_below_home else self.url

    @property
    def is_below_home(self) -> bool:
        return self.scheme == "ssh" and self.path.startswith(_HOME)

    @property
    def rooted(self) -> "Remote":
        """With its path from the root and not from a home, which forges do not have."""
        return replace(self, path=f"/{self.path.removeprefix(_HOME)}") if self.is_below_home else self

    @property
    def ssh_path(self) -> str:
        """The path that the server gets."""
        path = unquote(self.path)
        if self.is_below_home:
            return path.removeprefix(_HOME)
        return path[1:] if path.startswith("/~") else path  # as git does: the home of another user

    @property
    def port_suffix(self) -> str:
        """Such as :8443; empty for the scheme's own port."""
        return "" if self.port == PORTS[self.scheme] else f":{self.port}"

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def name(self) -> str:
        """The path as the forge shows it: acme/terraform-aws-vpc."""
        path = self.path.removeprefix(_HOME) if self.is_below_home else self.path
        return path.strip("/").removesuffix(".git")

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse(text: str) -> Remote:
    """Raises Invalid for everything but https, http and ssh URLs; whether it may be called, others decide."""
    text = text.strip()
    if not 0 < len(text) <= MAX_URL_CHARACTERS or not text.isascii() or not text.isprintable() or " " in text:
        raise Invalid(
            f"The URL is empty, has more than {MAX_URL_CHARACTERS} characters, or others than plain ASCII.", hint=HINT
        )
    short = _SHORT.fullmatch(text)
    if short and "://" not in text:
        path = short["path"].replace("%", "%25")
        root = "" if path.startswith("/") else "/" if path.startswith("~") else _HOME
        text = f"ssh://{short['user']}@{short['host']}{root}{path}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Invalid("The host or port of the URL cannot be read.", hint=HINT) from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise Invalid(f"The URL begins with {text[:20]!r}, expected https:// or ssh:// and a host.", hint=HINT)
    if parts.query or parts.fragment:
        raise Invalid("The URL has a query or fragment, expected a repository's.", hint=HINT)
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        raise Invalid("The URL contains a user name or password.", hint="Give the credentials as such.")
    if parts.hostname.startswith("-") or (parts.username is not None and not _USER.fullmatch(parts.username)):
        raise Invalid("The host or the user of the URL begins like an option.", hint=HINT)
    path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    if path.strip("/") in ("", "~") or ".." in path.split("/") or path.startswith(f"{_HOME}-"):
        raise Invalid("The URL names no repository.", hint=HINT)
    user = (parts.username or "git") if parts.scheme == "ssh" else ""
    return Remote(parts.scheme, parts.hostname, port or PORTS[parts.scheme], path, user)

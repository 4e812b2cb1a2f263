from typing import Any

from apps.lib.errors import RegistryError


class Refused(RegistryError):
    """Policy or trust holds it back: the text names the rule, and the date on which it becomes available."""

    code = "forbidden"


class FetchFailed(Exception):
    """A registry did not answer as it must. The text is for operators and clients.

    `code` is snake_case and stable. `rule`: what of ours refused, such as `max_bytes` or `private_address`; empty if
    the registry itself failed. `is_final`: asking again soon changes nothing.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        url: str,
        status: int = 0,
        rule: str = "",
        retry_after: float = 0,
        is_final: bool = False,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.url, self.status, self.rule = code, message, url, status, rule
        self.retry_after, self.is_final = retry_after, is_final

    def as_json(self) -> dict[str, Any]:
        """Return the failure as rows store and pages show it."""
        return {
            "code": self.code,
            "message": self.message,
            "url": self.url,
            "status": self.status,
            "rule": self.rule,
        }

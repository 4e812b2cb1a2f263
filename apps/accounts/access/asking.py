"""The asker of something that may have to be fetched first: both edges of the mirror pass it to the room behind
them.
"""

from dataclasses import dataclass
from datetime import datetime

from apps.accounts.access.gate import Viewer


@dataclass(frozen=True, slots=True)
class Asker:
    """`since`: when the request came; `until`: how long it can wait, in time.monotonic().

    `has_waited`: the same request has asked before, and what it needs counts once.
    """

    viewer: Viewer
    user_agent: str
    client: str  # its address, for rate limits
    since: datetime
    until: float
    has_waited: bool = False

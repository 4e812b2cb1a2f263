"""Lock files and required_providers blocks that strangers send, read in a child that is killed at its limit.

The parser's time grows with the square of some texts, and it holds the interpreter's lock: in a web process no other
request would get an answer meanwhile.
"""

from apps.lib import versions
from apps.lib.errors import Invalid, Unavailable
from apps.lib.formats.lock_files import Client, LockedProvider, LockFile, parse_source
from apps.lib.mirrored import HostedProvider
from apps.lib.process import outside
from apps.lib.provider_constraints import Constraints
from apps.lib.sandbox import parent

_MIB = 1024 * 1024
LIMITS = parent.Limits(seconds=3, memory_bytes=512 * _MIB, document_bytes=8 * _MIB)
_PROGRAM = "apps.contrib.mirror.ahead.lock_child"


def read(*, lock: str, required_providers: str, client: str) -> tuple[LockFile, dict[HostedProvider, Constraints]]:
    """Return the lock file, and the constraints of the block; a blank text has no providers.

    `client`: `tofu` or `terraform`, for a lock file that names none; empty: OpenTofu. Raises Invalid with the line, and
    Unavailable.
    """
    if not lock.strip() and not required_providers.strip():
        return LockFile(Client(client or Client.TOFU)), {}
    request = {"lock": lock, "required_providers": required_providers, "client": Client(client or Client.TOFU)}
    try:
        with outside.waiting():
            answer = parent.run(program=_PROGRAM, request=request, limits=LIMITS, site_packages=True)
        if "refused" in answer:
            text, hint = answer["refused"]
            raise Invalid(text, hint=hint)
        # As careful as with the text: a child that was taken over answers what it likes.
        locks = {
            parse_source(address, default_host=""): LockedProvider(
                versions.parse(number).text, Constraints.parse(constraints), frozenset(map(str, hashes))
            )
            for address, number, constraints, hashes in answer["locks"]
        }
        required = {
            parse_source(address, default_host=""): Constraints.parse(constraints)
            for address, constraints in answer["required"]
        }
        return LockFile(Client(answer["client"]), locks), required
    except parent.TooExpensive:
        raise Invalid(
            "The text takes too much time or memory to read.",
            hint="Send a lock file as clients write it, or the required_providers block alone.",
        ) from None
    except (parent.CheckBroken, ValueError, KeyError, TypeError) as error:
        raise Unavailable("Larder's reader of lock files failed.", hint="Send the same request again.") from error

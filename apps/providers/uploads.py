"""A file of a provider's draft in several requests (`releases.publishing.resuming`)."""

from collections.abc import Callable, Iterable, Iterator

from apps.accounts.access.gate import Viewer
from apps.blobs.store import Staged
from apps.lib.errors import Conflict, Invalid
from apps.providers import publishing
from apps.providers.drafting import drafts
from apps.releases.models import Release, State
from apps.releases.publishing import drafting, resuming
from apps.releases.publishing.resuming import Announced
from apps.releases.upload_rows import Upload


def begin(*, viewer: Viewer, release: Release, name: str, announced: Announced) -> Upload:
    """Raises Conflict for a draft of someone else or one that was handed in, and Invalid for a name."""
    publishing.require_publisher(viewer, release)
    drafting.require_own(release, viewer)
    drafts.check_length(release, name, announced.length)
    if drafts.role_of(release, name) == "ignored":
        raise Invalid(f"{name} is a byproduct of the build, which is not stored.", hint="Leave it out.")
    if release.state != State.RECEIVING:
        raise Conflict(
            f"{release} is {release.state}: its files are fixed.",
            hint="Publish other files under another version number.",
        )
    return resuming.begin_upload(release, viewer, announced, name=name)


def of_file(*, viewer: Viewer, release: Release, name: str) -> Upload | None:
    """The viewer's newest upload of a file: unfinished, or the one that brought the file that the draft has."""
    publishing.require_publisher(viewer, release)
    drafting.require_own(release, viewer)
    upload = resuming.of_file(release, viewer, name)
    if upload is None or upload.finished_at is None:
        return upload
    is_there = release.files.filter(name=name, digest=upload.expected).exists()
    return upload if is_there else None


def send(
    upload: Upload,
    viewer: Viewer,
    chunks: Iterable[bytes] | resuming.Incoming,
    *,
    start: int,
    verify: Callable[[Iterable[bytes]], Iterator[bytes]] | None = None,
) -> None:
    """See `resuming.send`. With the last byte the draft has the file, in place of one of that name."""

    def complete(key: str, staged: Staged) -> str:
        return drafting.record_file(upload.release, viewer, upload.name, key, staged)[1]

    resuming.send(upload, viewer, chunks, start=start, complete=complete, verify=verify)

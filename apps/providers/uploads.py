"""A file of a provider's draft in several requests (`releases.publishing.resuming`)."""

from apps.blobs.store import Staged
from apps.lib.errors import Conflict, Invalid
from apps.providers import publishing
from apps.providers.drafting import drafts
from apps.releases.models import Release, State, Upload
from apps.releases.publishing import drafting, resuming
from apps.releases.publishing.resuming import Announced


class Uploads(resuming.Uploads):
    def start(self, *, release: Release, name: str, announced: Announced) -> Upload:
        """Raises Conflict for a draft of someone else or one that was handed in, and Invalid for a name."""
        publishing.require_publisher(self.viewer, release)
        drafting.require_own(release, self.viewer)
        drafts.check_length(release, name, announced.length)
        if drafts.role_of(release, name) == "ignored":
            raise Invalid(f"{name} is a build byproduct and is not stored.", hint="Leave it out.")
        if release.state != State.RECEIVING:
            raise Conflict(
                f"{release} is {release.state}: its files can no longer change.",
                hint="Publish other files under another version number.",
            )
        return resuming.begin_upload(release, self.viewer, announced, name=name)

    def of_file(self, *, release: Release, name: str) -> Upload | None:
        """The newest upload of a file: unfinished, or the one that brought the file that the draft has."""
        publishing.require_publisher(self.viewer, release)
        drafting.require_own(release, self.viewer)
        upload = resuming.of_file(release, self.viewer, name)
        if upload is None or upload.finished_at is None:
            return upload
        is_there = release.files.filter(name=name, digest=upload.expected).exists()
        return upload if is_there else None

    def complete(self, upload: Upload, key: str, staged: Staged) -> str:
        """The draft has the file, in place of one of that name."""
        return drafting.record_file(upload.release, self.viewer, upload.name, key, staged)[2]

"""A module's archive in several requests (`releases.publishing.resuming`)."""

from collections.abc import Collection, Sequence

from django.conf import settings
from django.db import transaction

from apps.blobs.store import Staged
from apps.lib.addresses import ModuleAddress
from apps.lib.digests import check_size
from apps.modules import publishing
from apps.releases.models import Release, Upload
from apps.releases.publishing import receiving, resuming
from apps.releases.publishing.resuming import Announced


class Uploads(resuming.Uploads):
    def start(
        self,
        *,
        address: ModuleAddress,
        version: str,
        announced: Announced,
        file_name: str = "",
        folders: Sequence[str] = (),
        confirm: Collection[str] = (),
        reason: str = "",
    ) -> Upload:
        """Reserve the version, in place of the person's own unfinished upload. Raises VersionTaken."""
        _check_length(announced.length)
        with transaction.atomic():
            release = publishing.reserve_for_upload(
                viewer=self.viewer,
                address=address,
                version=version,
                file_name=file_name,
                folders=folders,
                confirm=confirm,
                reason=reason,
            )
            return resuming.begin_upload(release, self.viewer, announced)

    def start_with_ticket(self, *, release: Release, announced: Announced, ticket: str) -> Upload:
        """For a release that a browser reserved."""
        _check_length(announced.length)
        return resuming.begin_upload(release, self.viewer, announced, ticket=ticket)

    def complete(self, upload: Upload, key: str, staged: Staged) -> str:
        """The release is received, and its ticket used."""
        receiving.accept(
            release=upload.release,
            digest=staged.digest,
            size=staged.size,
            job=publishing.JOB,
            staging_key=key,
            ticket_digest="",
        )
        return ""

    def cancel(self, upload: Upload) -> None:
        """With its release: the number is free."""
        publishing.cancel(release=upload.release, viewer=self.viewer)


def _check_length(length: int) -> None:
    limit, setting = settings.MODULE_ARCHIVE_MAX_BYTES, publishing.LIMIT_SETTING
    check_size(length, limit=limit, what="The archive", setting=setting)

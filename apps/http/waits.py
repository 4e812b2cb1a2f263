"""Views whose request leaves its thread until a worker has fetched something (apps/jobs/waiting.py)."""

import time
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone
from rest_framework.response import Response

from apps.accounts.access.asking import Asker
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sign_ins
from apps.blobs import store, verifying
from apps.blobs.verifying import BeingVerified
from apps.http.views import MachineView
from apps.jobs import waiting
from apps.jobs.waiting import NotYet, Waiting
from apps.lib.errors import Unavailable

RETRY_AFTER = 5


@dataclass(frozen=True, slots=True)
class Patience:
    """`since`: when the request came; `until`: how long it can wait, in time.monotonic()."""

    since: datetime
    until: float


class WaitingView(MachineView):
    """It waits for LARDER_UPSTREAM_WAIT_SECONDS. Where it cannot, or not any longer, it answers 503 with Retry-After.

    Clients end it before that, after TF_REGISTRY_CLIENT_TIMEOUT (10 s). An earlier 503 helps none: OpenTofu repeats no
    request to a mirror (internal/getproviders/http_mirror_source.go), Terraform repeats a time-out sooner than a 503.
    """

    _patience: Patience | None = None

    @property
    def patience(self) -> Patience:
        """The same each time that the request is resumed."""
        if self._patience is None:
            if self.resumed is not None:
                self._patience = self.resumed.resume
            else:
                can_wait = self.request.META.get(waiting.OFFERED)
                seconds = settings.UPSTREAM_WAIT_SECONDS if can_wait else 0
                self._patience = Patience(timezone.now(), time.monotonic() + seconds)
        return self._patience

    def asker(self, viewer: Viewer) -> Asker:
        return Asker(
            viewer=viewer,
            user_agent=self.request.headers.get("User-Agent", ""),
            client=sign_ins.address_of(self.request),
            since=self.patience.since,
            until=self.patience.until,
            has_waited=self.resumed is not None,
        )

    def verify_file(self, digest: str, size: int | None) -> None:
        """Have a large file hashed once, before many send it: the others wait for that. Raises NotYet."""
        if self.request.method != "GET" or not self.request.META.get(waiting.OFFERED):
            return
        try:
            verifying.verify_file(digest, size=size or 0)
        except BeingVerified as busy:
            until = self.patience.until
            if time.monotonic() < until:
                news = Waiting(verifying.states_of, busy.ticket, (verifying.BUSY,), until)
                raise NotYet(news) from None
        except store.Missing:
            pass  # whoever reads it says so

    def answer_exception(self, error: Exception, context: dict[str, Any]) -> Response:
        if isinstance(error, NotYet):
            until = min(error.waiting.until, self.patience.until)
            if self.request.META.get(waiting.OFFERED) and time.monotonic() < until:
                self.request.META[waiting.ASKED] = replace(error.waiting, until=until, resume=self.patience)
            error = Unavailable(str(error), hint="Try again in a few seconds.", retry_after=RETRY_AFTER)
        return super().answer_exception(error, context)

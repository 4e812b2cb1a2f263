"""…/<version>/checks of a module or provider: reports about it, sent with one `curl`."""

from http import HTTPStatus
from typing import Any

from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame.base import MODULE, PROVIDER, ApiView, DetailView, operation, shown
from apps.api.frame.bodies import refuse_form
from apps.api.frame.shapes import With
from apps.contrib.checks import policy, sending, wording
from apps.contrib.checks.api.shapes import CheckDetails, CheckReport, Checks
from apps.contrib.checks.models import Report
from apps.contrib.checks.reading import confined
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.net.bodies import chunks, streamed
from apps.releases.models import Release


class _OfVersion(ApiView):
    address_type: type[ModuleAddress | ProviderAddress] = ModuleAddress

    def readable(self, version: str, **names: str) -> Release:
        return sending.readable(self.viewer, self.address_type(**names), version)


class CheckList(_OfVersion, DetailView):
    get = shown("List the checks of a version", Checks, public=True)

    def row(self, version: str, **names: str) -> dict[str, Any]:
        release = self.readable(version, **names)
        reports = policy.judge(release, Report.objects.about(release).listed())
        return {"line": wording.line_of(reports), "missing": policy.missing(release, reports), "checks": reports}


@streamed("PUT")
class Check(_OfVersion):
    @operation("Show a check of a version", answers={200: CheckDetails}, public=True)
    def get(self, request: Request, check: str, version: str, **names: str) -> Response:  # noqa: ARG002
        """The newest report of this name with its findings and tests, and those before it."""
        release = self.readable(version, **names)
        history = sending.history_of(release, check)
        [newest] = policy.judge(release, history[:1])
        return self.answer(With(newest, **newest.details, history=history))

    @operation(
        "Send a report about a version",
        takes="application/sarif+json",
        answers={201: CheckReport, 202: CheckReport},
        query={"digest": "sha256:… of the archive, or of a package, that it is about; another one is refused."},
        errors={409: "The digest is that of other bytes, or the version has reports of too many names."},
        again="The same report is stored once, with the newer time.",
        scope="publish",
        idempotent=False,  # the time is newer
        limits=["publish"],
    )
    def put(self, request: Request, check: str, version: str, **names: str) -> Response:
        """SARIF 2.1.0, JUnit XML, the output of `tofu test -json`, or {"state": "passed", "summary": "…", "url": "…"}
        as raw body, up to 5 MB. 202 before the version is published: the report waits for it, for at most 14 days.
        """
        self.count("publish")
        release = sending.authorise(self.viewer, self.address_type(**names), version)  # before the body is read
        sending.check_name(check)
        refuse_form(request, expected="the report itself", hint="With curl use `--upload-file`, not --form.")
        digest = sending.check_digest(release, self.text("digest"))
        read = confined.read(self.viewer, chunks(request.META))
        row = sending.send(viewer=self.viewer, release=release, name=check, read=read, digest=digest)
        status = HTTPStatus.CREATED if row.release_id else HTTPStatus.ACCEPTED
        return self.answer(policy.judge(row.release or release, [row])[0], status)

    @operation(
        "Remove a check of a version",
        answers={204: None},
        query={"reason": "Why, in one or two sentences; the audit keeps it."},
        again="404.",
    )
    def delete(self, request: Request, check: str, version: str, **names: str) -> Response:
        """For owners: all reports of this name."""
        release, reason = self.readable(version, **names), request.query_params.get("reason", "")
        sending.remove(viewer=self.viewer, release=release, name=check, reason=reason)
        return self.answer(status=HTTPStatus.NO_CONTENT)


def _routes(kind: str, place: str, address_type: type[ModuleAddress | ProviderAddress]) -> list[URLPattern]:
    here, of_kind = f"{place}/<segment:version>/checks", {"address_type": address_type}
    return [
        path(here, CheckList.as_view(**of_kind), name=f"{kind}-checks"),
        path(f"{here}/<segment:check>", Check.as_view(**of_kind), name=f"{kind}-check"),
    ]


urlpatterns = [
    *_routes("module", MODULE, ModuleAddress),
    *_routes("provider", PROVIDER, ProviderAddress),
]

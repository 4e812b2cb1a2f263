"""…/<version>/checks of a module or provider: reports about it, sent with one `curl`."""

from http import HTTPStatus

from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame.base import MODULE, PROVIDER, ApiView, DetailView, operation, shown
from apps.api.frame.bodies import refuse_form
from apps.api.frame.shapes import With
from apps.contrib.checks import digests, lookup, policy, sending, wording
from apps.contrib.checks.api.shapes import CheckDetails, CheckReport, Checks
from apps.contrib.checks.models import Report as Row
from apps.contrib.checks.reading import confined
from apps.contrib.checks.sending import Sent, Target
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.net.bodies import chunks, streamed


class _OfVersion(ApiView):
    address_type: type[ModuleAddress | ProviderAddress] = ModuleAddress

    def readable(self, version: str, **names: str) -> Target:
        return lookup.target_for(self.viewer, self.address_type(**names), version)


class CheckList(_OfVersion, DetailView):
    get = shown("List the checks of a version", Checks, public=True)

    def row(self, version: str, **names: str) -> With:
        target = self.readable(version, **names)
        rows = list(sending.newest_of(target))
        missing = policy.missing(target.release) if target.release is not None else []
        return With(target, line=wording.line_of(rows), missing=missing, checks=_described(target, rows))


@streamed("PUT")
class Check(_OfVersion):
    @operation("Show a check of a version", answers={200: CheckDetails}, public=True)
    def get(self, request: Request, check: str, version: str, **names: str) -> Response:  # noqa: ARG002
        """The newest report of this name with its findings and tests, and those before it."""
        target = self.readable(version, **names)
        return self.answer(_detailed(target, lookup.report_of(target, check)))

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
        target = sending.authorise(self.viewer, self.address_type(**names), version)  # before the body is read
        sending.check_name(check)
        refuse_form(request, expected="the report itself", hint="With curl use `--upload-file`, not --form.")
        digest = sending.check_digest(target, self.text("digest"))
        report, sha256 = confined.read(self.viewer, chunks(request.META))
        row = sending.send(viewer=self.viewer, target=target, name=check, sent=Sent(report, sha256, digest))
        status = HTTPStatus.CREATED if target.is_published else HTTPStatus.ACCEPTED
        return self.answer(_described(target, [row])[0], status)

    @operation(
        "Remove a check of a version",
        answers={204: None},
        query={"reason": "Why, in one or two sentences; the audit keeps it."},
        again="404.",
    )
    def delete(self, request: Request, check: str, version: str, **names: str) -> Response:
        """For owners: all reports of this name."""
        target = self.readable(version, **names)
        reason = request.query_params.get("reason", "")
        sending.remove(viewer=self.viewer, target=target, name=check, reason=reason)
        return self.answer(status=HTTPStatus.NO_CONTENT)


def _described(target: Target, rows: list[Row]) -> list[With]:
    known = digests.of_release(target.release) if target.release is not None else []
    origin = lookup.origin_of(target)
    return [With(row, matches=row.digest in known, verified_origin=policy.is_from_origin(row, origin)) for row in rows]


def _detailed(target: Target, row: Row) -> With:
    [found] = _described(target, [row])
    return With(found, **row.details, history=list(lookup.history_of(row)))


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

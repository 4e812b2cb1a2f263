"""/api/v1/upstreams/<host>/providers: mirrored providers with their versions: verdict, rule, key, digests, origin."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.api.frame import base
from apps.api.frame.base import ApiView, DetailView, operation, shown
from apps.api.frame.shapes import DigestField, DocsPage, MomentField, PersonField, Shape, With, page
from apps.contrib.mirror import models
from apps.contrib.mirror.api.upstreams import UpstreamFailure
from apps.contrib.mirror.models import Verdict
from apps.contrib.mirror.serving import catalogue, docs
from apps.releases.docs.browsing import index_of

VERDICTS = [one for one in Verdict.values if one]


class MirroredProvider(Shape):
    host = CharField(source="upstream.host")
    namespace = CharField()
    type = CharField()
    newest = CharField(allow_null=True, help_text="The highest version that clients get.")
    held_back = CharField(allow_null=True, help_text="A higher version that the policy hides from clients.")
    versions = IntegerField(help_text="Number of versions that the registry lists.")
    listed_at = MomentField(help_text="When the list was last read or confirmed.")
    failure = UpstreamFailure(allow_null=True, help_text="Time of the last attempt to refresh the list.")

    def failure_of(self, provider: Any) -> Any:
        return provider.failure or None


class MirroredPackage(Shape):
    os = CharField()
    arch = CharField()
    filename = CharField()
    digest = DigestField()
    size = IntegerField(allow_null=True)
    h1 = CharField(allow_null=True, help_text="null until its bytes are verified.")
    stored = BooleanField(help_text="Whether Larder stores its verified bytes.")
    pinned = BooleanField(source="is_pinned", help_text="Never deleted while unused.")
    fetched_at = MomentField(allow_null=True)
    fetched_by = PersonField(source="fetched_by.username")
    origin = CharField(source="fetched_from", allow_null=True, help_text="The URL from which it was fetched.")
    used_at = MomentField(allow_null=True)
    uses = IntegerField()
    available = BooleanField(help_text="Clients can download it for this platform.")
    rule = CharField(help_text="The rule that decides about the platform.")
    failure = UpstreamFailure(allow_null=True)

    def h1_of(self, package: Any) -> str | None:
        return package.h1 or None

    def stored_of(self, package: Any) -> bool:
        return package.blob_id is not None

    def origin_of(self, package: Any) -> str | None:
        return package.fetched_from or None

    def failure_of(self, package: Any) -> Any:
        return package.failure or None


class MirroredVersion(Shape):
    # Of a row with what policy says of it.
    version = CharField(source="version.version")
    listed = BooleanField(source="version.is_listed", help_text="false: the registry no longer lists it.")
    removed = BooleanField(source="version.is_gone", help_text="Operators accepted this: clients no longer get it.")
    available = BooleanField(help_text="Whether clients see it.")
    rule = CharField(source="decision.rule")
    reason = CharField(source="decision.sentence", help_text="The rule in words, with the date if there is one.")
    available_at = MomentField(source="decision.available_at", allow_null=True)
    verdict = ChoiceField(choices=VERDICTS, allow_null=True, help_text="null: not fetched.")
    key = CharField(source="version.key.fingerprint", allow_null=True)
    verified_at = MomentField(source="version.verified_at", allow_null=True)
    published_at = MomentField(
        source="version.published_at", allow_null=True, help_text="The earliest date that the registry states."
    )
    first_seen_at = MomentField(source="version.first_seen_at")
    was_in_first_list = BooleanField(source="version.was_in_first_list", help_text="Without a date, it counts as old.")
    platforms = ListField(child=CharField())
    protocols = ListField(source="version.protocols", child=CharField())
    failure = UpstreamFailure(allow_null=True)

    def available_of(self, decided: Any) -> bool:
        return bool(decided.reaches_clients)

    def verdict_of(self, decided: Any) -> str | None:
        return decided.version.verdict or None

    def key_of(self, decided: Any) -> str | None:
        return decided.version.key.fingerprint if decided.version.key else None

    def platforms_of(self, decided: Any) -> list[str]:
        return [f"{os}_{arch}" for os, arch in decided.version.platforms]

    def failure_of(self, decided: Any) -> Any:
        return decided.version.failure or None


class MirroredVersionDetail(MirroredVersion):
    index_digest = CharField(source="version.index_digest", help_text="Digest of the OCI index, or empty.")
    weakness = CharField(help_text="Weakness of the signature, such as `made with SHA-1`, or empty.")
    packages = MirroredPackage(many=True)


class MirroredDocs(Shape):
    pages = DocsPage(many=True)
    reason = CharField(allow_null=True, help_text="Reason if there are none; otherwise null.")


def _with_newest(found: catalogue.Listed) -> With:
    return With(found.provider, newest=found.newest or None, held_back=found.held_back or None, versions=found.versions)


class ProviderView(ApiView):
    def provider(self) -> models.UpstreamProvider:
        names = self.kwargs
        return catalogue.provider_for(self.viewer, names["host"], names["mirrored_namespace"], names["mirrored_type"])


class ProviderList(ApiView):
    @operation(
        "List mirrored providers",
        answers={200: page("MirroredProviderPage", providers=MirroredProvider(many=True))},
        query={"q": "Words that occur in the namespace or the type.", **base.CURSOR},
        public=True,
    )
    def get(self, request: Request, host: str) -> Response:
        rows = catalogue.providers_of(self.viewer, host, self.text("q"))
        found, following = base.page_of(request, rows)
        return self.answer({"providers": [_with_newest(one) for one in catalogue.listed(found)], "next": following})


class ProviderDetail(ProviderView, DetailView):
    get = shown("Show a mirrored provider", MirroredProvider, public=True)

    def row(self, **_: Any) -> With:
        return _with_newest(catalogue.listed([self.provider()])[0])


class VersionList(ProviderView):
    @operation(
        "List the versions of a mirrored provider, highest first",
        answers={200: page("MirroredVersionPage", versions=MirroredVersion(many=True))},
        query=base.CURSOR,
        public=True,
    )
    def get(self, request: Request, **_: Any) -> Response:
        """With those that policy holds back, which clients do not see, and those that the registry no longer lists."""
        provider = self.provider()
        found, following = base.page_of(request, catalogue.versions_of(provider))
        return self.answer({"versions": catalogue.decided(provider, found), "next": following})


class VersionDetail(ProviderView, DetailView):
    get = shown("Show a version of a mirrored provider", MirroredVersionDetail, public=True)

    def row(self, **names: Any) -> With:
        version = catalogue.version_for(
            self.viewer, names["host"], names["mirrored_namespace"], names["mirrored_type"], names["version"]
        )
        decisions = catalogue.decisions_by_platform(version)
        rows = catalogue.packages_of(version)
        packages = [
            With(one, available=decisions[one.platform].is_visible, rule=decisions[one.platform].rule)
            for one in rows
            if one.platform in decisions
        ]
        decided = catalogue.decided_with(version, decisions[""], rows)
        return With(decided, packages=packages, weakness=catalogue.weakness_of(version))


class VersionDocs(ProviderView, DetailView):
    get = shown("Show the documentation pages of a mirrored version", MirroredDocs, public=True)

    def row(self, **names: Any) -> dict[str, Any]:
        found = docs.of(
            catalogue.version_for(
                self.viewer, names["host"], names["mirrored_namespace"], names["mirrored_type"], names["version"]
            )
        )
        return {"pages": index_of(found.docs.rows.all()) if found.docs else [], "reason": found.why or None}


_PROVIDERS = "upstreams/<segment:host>/providers"
_PROVIDER = f"{_PROVIDERS}/<segment:mirrored_namespace>/<segment:mirrored_type>"
urlpatterns = [
    path(_PROVIDERS, ProviderList.as_view(), name="mirrored-providers"),
    path(_PROVIDER, ProviderDetail.as_view(), name="mirrored-provider"),
    path(f"{_PROVIDER}/versions", VersionList.as_view(), name="mirrored-versions"),
    path(f"{_PROVIDER}/versions/<segment:version>", VersionDetail.as_view(), name="mirrored-version"),
    path(f"{_PROVIDER}/versions/<segment:version>/docs", VersionDocs.as_view(), name="mirrored-docs"),
]

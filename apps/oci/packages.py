"""Module packages: the meaning of a tag or a digest in a module's repository."""

from apps.artifacts.errors import ManifestUnknown
from apps.artifacts.models import Manifest, Tag
from apps.artifacts.names import is_release_tag, tag_of, version_of
from apps.lib import versions
from apps.lib.formats.oci_manifests import IMAGE_MANIFEST, digest_of
from apps.modules import package_manifest
from apps.modules.models import ModuleVersion, ModuleVersionQuerySet
from apps.oci.repositories import VisibleRepository, versions_of
from apps.oci.served import Served
from apps.releases.models import Kind, Lifecycle, Release, ReleaseQuerySet

LATEST = "latest"
NEVER_DELETED = "Releases cannot be deleted over OCI: yank it on its page, or ask staff to purge it."


def served_by_tag(found: VisibleRepository, tag: str) -> Served | None:
    """Return the release of a tag; for `latest` its present meaning, which may be a row. None: ask the rows of tags."""
    if tag == LATEST:
        return _latest(found)
    if not is_release_tag(tag):
        return None
    number = versions.parse(version_of(tag))
    with_it = _versions(found).published().filter(release__sort_key=number.sort_key, release__version=number.text)
    version = next(iter(with_it), None)
    return _served(found, version) if version else None


def served_by_digest(found: VisibleRepository, digest: str) -> Served | None:
    """Return the release with that manifest. None: look at the rows of manifests.

    Raises ManifestUnknown for what is in quarantine, whatever the rows say.
    """
    with_it = list(_versions(found).filter(manifest_digest=digest).newest_first())
    shown = next((one for one in with_it if one.release.quarantined_at is None), None)
    if shown is not None:
        return _served(found, shown)
    if with_it:
        raise ManifestUnknown(f"There is no manifest {digest} in {found.address}.")
    return None


def listed_tags(found: VisibleRepository) -> list[str]:
    """Return the tags of listed releases, with `latest` if one of them is it; unordered, without rows of tags."""
    rows = _versions(found).listed().newest_first()
    listed = list(rows.values_list("release__version", "is_prerelease"))
    has_latest = any(not is_prerelease for _, is_prerelease in listed)
    return [*(tag_of(version) for version, _ in listed), *([LATEST] if has_latest else [])]


def archive_of(found: VisibleRepository, sha256: str) -> Release | None:
    """Return a published release of the module with these bytes, unless they are in quarantine."""
    return Release.objects.with_bytes(sha256).filter(pk__in=_releases(found)).order_by("pk").first()


def has_empty_config(found: VisibleRepository) -> bool:
    """Whether a generated manifest names the empty config `{}`, which is then readable without a row."""
    return _releases(found).published().filter(provenance__manifest__isnull=True).exists()


def _latest(found: VisibleRepository) -> Served | None:
    """The version that the tag was moved to, until the next stable release; else the highest stable listed one.

    Versions that are not deprecated come first: a deprecated one is `latest` only if there is no other. A row that
    leads to a release which was yanked or put into quarantine since leads nowhere.
    """
    stable = _versions(found).listed().filter(is_prerelease=False)
    rows = Tag.objects.filter(repository__namespace=found.namespace, repository__path=found.address.path_name)
    row = rows.filter(name=LATEST).select_related("manifest").first()
    if row is not None:
        newest = stable.order_by("-release__published_at").values_list("release__published_at", flat=True).first()
        if newest is None or row.moved_at > newest:
            pushed = _pushed_latest(found, row.manifest)
            if pushed is not None:
                return pushed
    shown = stable.exclude(release__lifecycle=Lifecycle.DEPRECATED).newest_first().first()
    shown = shown or stable.newest_first().first()
    return _served(found, shown) if shown else None


def _pushed_latest(found: VisibleRepository, manifest: Manifest) -> Served | None:
    with_it = _versions(found).filter(manifest_digest=manifest.digest)
    shown = with_it.listed().newest_first().first()
    if shown is not None:
        return _served(found, shown)
    if with_it.exists():
        return None
    return Served(bytes(manifest.raw), manifest.digest, manifest.media_type)


def _served(found: VisibleRepository, version: ModuleVersion) -> Served | None:
    """Return the manifest of a release: generated, or pushed with it."""
    release = version.release
    raw = package_manifest.synthesised(release)
    digest = digest_of(raw)
    if version.manifest_digest in ("", digest):
        return Served(raw, digest, IMAGE_MANIFEST, release, is_download=True)
    rows = Manifest.objects.filter(repository__namespace=found.namespace, repository__path=found.address.path_name)
    pushed = rows.filter(digest=version.manifest_digest).first()
    if pushed is None:
        return None
    return Served(bytes(pushed.raw), pushed.digest, pushed.media_type, release, is_download=True)


# Columns that serving a manifest needs: naming all columns of both tables takes Django longer than the query.
_READ = (
    "manifest_digest",
    *(f"release__{column}" for column in ("name", "version", "digest", "size", "quarantined_at")),
    *(f"release__lifecycle{column}" for column in ("", "_reason", "_replacement")),
)


def _versions(found: VisibleRepository) -> ModuleVersionQuerySet:
    """Of the module, without a query for the module itself: every read of a manifest asks this."""
    return versions_of(**found.coordinate).select_related("release").only(*_READ)


def _releases(found: VisibleRepository) -> ReleaseQuerySet:
    return Release.objects.filter(kind=Kind.MODULE, namespace=found.namespace, name=found.registered.path_name)

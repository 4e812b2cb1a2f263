"""What is asked of routes besides their own address, and the few scans that are meant."""

# Words for the searches of the admin: an address, its beginning, a namespace, a version, a digest, nothing.
SEARCHES = ("acme/vpc/aws", "acme/vp", "module-1717", "acme", "1.0.0", "0a1b2c3d", "nowhere")

_LISTS = ("q=vpc", "q=module", "q=nowhere", "sort=updated", "sort=downloads", "page=2", "namespace=acme", "system=aws")
_AUDIT = ("kind=namespace:release:published", "actor=dora", "subject=acme/vpc/aws", "namespace=acme", "before=1")
# Route: query strings.
QUERIES: dict[str, tuple[str, ...]] = {
    "portal:modules": _LISTS,
    "portal:providers": _LISTS,
    "portal:search": ("q=vpc", "q=module-17", "q=wrod17", "q=nowhere"),
    "portal:namespace": ("q=vpc", "page=2"),
    "portal:own-releases": ("state=held", "state=refused", "state=published", "page=2"),
    "portal:publish": ("suggest=vp", "match=vpc&system=aws"),
    "portal:module-versions": ("show=yanked", "page=2"),
    "api:modules": ("q=vpc", "limit=100", "namespace=acme", "cursor=100"),
    "api:providers": ("q=dns", "limit=100", "namespace=acme", "cursor=100"),
    "api:search": ("q=vpc", "q=module-17", "q=wrod17"),
    "api:releases": ("state=held", "state=refused", "cursor=100"),
    "api:namespace-releases": ("state=held", "cursor=100"),
    "api:audit": _AUDIT,
    "api:namespace-audit": _AUDIT,
    "api:jobs": ("state=failed", "kind=publish-module", "cursor=100"),
    "protocol:modules": ("offset=100", "limit=100", "provider=aws"),
    "protocol:module-list": ("offset=100", "limit=100", "provider=aws"),
    "protocol:module-search": ("q=vpc", "q=nowhere"),
    "oci:catalog": ("n=100", "n=100&last=acme/vpc"),
}

# One row for each module, provider or repository that people made, however many versions it has and however often it
# is asked for. Pages of the catalogue count them by namespace, system and provider, so they read them.
CATALOGUE = frozenset(
    [
        "modules.Module",
        "oci.Repository",
        "providers.Provider",
        "releases.SearchDoc",
        "releases.SearchFacet",
        "upstream.UpstreamProvider",
    ]
)

_FILTER = "not repaired yet: a filter of staff that most rows meet, or by a column without an index"
_SEARCH = "a search of staff for which the planner expects hundreds of rows: of so few it reads all"
# (Route or model of the admin, table): why it may be read whole.
BY_DESIGN: dict[tuple[str, str], str] = {
    ("accounts.ApiToken", "accounts_apitoken"): _FILTER,
    ("audit.AuditEvent", "audit_auditevent"): _FILTER,
    ("blobs.Blob", "blobs_blob"): _FILTER,
    ("modules.ModuleVersion", "modules_moduleversion"): _FILTER,
    ("modules.ModuleVersion", "releases_release"): _FILTER,
    ("oci.Collection", "oci_collection"): _FILTER,
    ("oci.Manifest", "oci_manifest"): _FILTER,
    ("provenance.Attestation", "provenance_attestation"): _FILTER,
    ("provenance.Statement", "provenance_statement"): _FILTER,
    ("providers.Package", "providers_providerversion"): _FILTER,
    ("providers.Package", "releases_release"): _FILTER,
    ("providers.ProviderVersion", "providers_providerversion"): _FILTER,
    ("providers.ProviderVersion", "releases_release"): _FILTER,
    ("releases.Release", "releases_release"): _FILTER,
    ("upstream.SyncRun", "upstream_syncrun"): _FILTER,
    ("upstream.UpstreamPackage", "upstream_upstreampackage"): _FILTER,
    ("upstream.UpstreamVersion", "upstream_upstreamversion"): _FILTER,
    ("jobs.Job", "jobs_job"): _SEARCH,
    ("releases.DownloadCount", "releases_downloadcount"): _SEARCH,
}

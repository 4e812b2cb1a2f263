"""What is asked of routes besides their own address, and the few scans that are meant. Rooms add their own."""

# Words for the searches of the admin: an address, its beginning, a namespace, a version, a digest, nothing.
SEARCHES = ("acme/vpc/aws", "acme/vp", "module-1717", "acme", "1.0.0", "0a1b2c3d", "nowhere")

_LISTS = ("q=vpc", "q=module", "q=nowhere", "sort=updated", "sort=downloads", "page=2", "namespace=acme", "system=aws")
_SHOWN = ("sort=updated", "sort=downloads", "page=2")
_NAMES = ("modules_module", "oci_repository")
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
    "api:namespace-releases": ("state=held", "cursor=1764583200000000-100"),
    "api:audit": _AUDIT,
    "api:namespace-audit": _AUDIT,
    "api:jobs": ("state=failed", "kind=publish-module", "cursor=1764583200000000-100"),
    "protocol:modules": ("offset=100", "limit=100", "provider=aws"),
    "protocol:module-list": ("offset=100", "limit=100", "provider=aws"),
    "protocol:module-search": ("q=vpc", "q=nowhere"),
    "oci:catalog": ("n=100", "n=100&last=acme/vpc"),
}

_FACETS = "it counts what the viewer sees by namespace, system and kind: one row for each module or provider"
_ALL = "the protocol wants all names in one order, from three tables"
# (Route or model of the admin, row, table): why this row may read it whole. A row is a
# query string, a filter of the admin and its choice, or `form`.
BY_DESIGN: dict[tuple[str, str, str], str] = {
    ("portal:home", "", "releases_searchdoc"): "it says how many modules there are; an index has what it counts",
    **{("portal:modules", row, "releases_searchdoc"): _FACETS for row in ("", *_SHOWN, "namespace=acme", "system=aws")},
    **{("oci:catalog", row, table): _ALL for row in ("", *QUERIES["oci:catalog"]) for table in _NAMES},
}

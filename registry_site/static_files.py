from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # it ships no types
    """Names carry a hash of the content, also inside ES module imports (Django leaves that switch off)."""

    support_js_module_import_aggregation = True

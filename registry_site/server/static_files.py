from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # it ships no types
    """Names carry a hash of the content, also inside ES module imports (Django leaves that switch off)."""

    support_js_module_import_aggregation = True

    def create_compressor(self, **options: Any) -> Any:
        """With gzip alone: brotli at its best takes seconds of the first start, and browsers keep these files."""
        return super().create_compressor(use_brotli=False, **options)

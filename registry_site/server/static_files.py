from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # it ships no types
    """Adds a hash of the content to names, also inside ES module imports (off by default in Django)."""

    support_js_module_import_aggregation = True

    def create_compressor(self, **options: Any) -> Any:
        """Use gzip only: brotli's best level takes seconds at the first start, and browsers cache these files."""
        return super().create_compressor(use_brotli=False, **options)

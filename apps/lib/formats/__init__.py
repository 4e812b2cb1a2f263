"""Formats of other programs: registry manifests, OCI manifests, SHA256SUMS, fingerprints."""

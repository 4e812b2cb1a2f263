"""Documents that other programs define: registry manifests, OCI manifests, SHA256SUMS, fingerprints."""

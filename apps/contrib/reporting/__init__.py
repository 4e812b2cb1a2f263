"""Reports of pipelines: which versions of this registry their configurations have installed."""

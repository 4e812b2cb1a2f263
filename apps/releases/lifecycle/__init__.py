"""A published version afterwards: deprecated, yanked, quarantined, purged, verified."""

"""A public demonstration: a registry with real-looking releases that no one can change."""

RESET_HOUR, RESET_MINUTE = 3, 40  # of UTC, every night

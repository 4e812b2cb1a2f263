"""Bounds on what one module may cost to read."""

MAX_FILES = 4_000  # in the whole archive
MAX_FILE_BYTES = 1024 * 1024
MAX_VALUE_BYTES = 64 * 1024
MAX_DEPTH = 200  # brackets inside each other
MAX_DIAGNOSTICS = 100  # in one unit
MAX_FAULTS = 5  # in one unit
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024

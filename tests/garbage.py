"""Fewer collections of garbage: what collecting the tests makes stays until the end, and each look at it costs.

Python's own thresholds are for small heaps. A tenth of the time of a test that drives the site went there.
"""

import gc


def pytest_sessionstart() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()

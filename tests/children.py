"""Answers of sandboxed children, remembered for tests with another subject."""

import hashlib
import json
import os
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from apps.lib.sandbox import parent

ANSWERS: dict[str, str] = {}
ASK = parent.run


def _run(**asked: Any) -> dict[str, Any]:
    """Run like `parent.run`, but ask the same program only once about the same bytes."""
    file = asked["stdin"].fileno()
    words = f"{asked['program']} {json.dumps(asked['request'], sort_keys=True)}".encode()
    key = hashlib.sha256(words + os.pread(file, os.fstat(file).st_size, 0)).hexdigest()
    if key not in ANSWERS:
        ANSWERS[key] = json.dumps(ASK(**asked))
    answer: dict[str, Any] = json.loads(ANSWERS[key])
    return answer


def remembered() -> AbstractContextManager[Any]:
    return mock.patch.object(parent, "run", _run)

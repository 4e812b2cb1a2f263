"""Some trials of bench/stale.py: real processes over PostgreSQL, and nothing stale after what was acknowledged."""

from pathlib import Path

import pytest

from bench import stale
from tests import postgres
from tests.live import start_live

pytestmark = pytest.mark.live


@pytest.mark.skipif(postgres.programs() is None, reason=postgres.MISSING)
def test_no_process_answers_with_what_was_before_a_change_that_was_acknowledged(tmp_path: Path) -> None:
    variables = {
        "LARDER_WEB_PROCESSES": "3",
        "LARDER_DATABASE_URL": postgres.start(),
        "LARDER_TLS": "off",
    }
    with start_live(tmp_path, **variables) as larder:
        assert stale.run(larder, len(stale.KINDS)).total() == 0

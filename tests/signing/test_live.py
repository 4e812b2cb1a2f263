"""The whole of it as it runs: the worker of `make run` makes the key, and no other process can use it."""

import stat
import time

import pytest

from tests.live import Live

pytestmark = pytest.mark.live

REQUEST = """
from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Namespace
from apps.signing import keys
namespace = Namespace.objects.create(name="keyring", canonical="keyring", visibility="private")
keys.request(namespace=namespace, algorithm="ed25519", actor=NOBODY)
"""
STATE = """
from apps.signing.models import SigningKey
key = SigningKey.objects.get(namespace__name="keyring")
print(key.state, key.fingerprint)
"""
SIGN = """
from apps.signing import signer
from apps.signing.models import SigningKey
try:
    signer.sign(key=SigningKey.objects.get(namespace__name="keyring"), data=b"data")
except signer.SignerUnavailable as away:
    print(away)
"""


@pytest.mark.full
@pytest.mark.python
@pytest.mark.smoke
def test_the_worker_makes_a_key_and_no_other_process_signs(live: Live) -> None:
    kek = live.data_dir / "signing" / "kek"
    live.manage("shell", "--no-imports", "-c", REQUEST)
    deadline = time.monotonic() + 60
    while "active" not in (said := live.manage("shell", "--no-imports", "-c", STATE)):
        assert time.monotonic() < deadline, said
    assert len(said.split()[1]) == 40
    assert stat.S_IMODE(kek.stat().st_mode) == 0o600
    assert "only workers sign" in live.manage("shell", "--no-imports", "-c", SIGN)

"""`manage.py doctor` tries the key service, and shows no token."""

from apps.contrib.kms.addresses import KINDS
from apps.contrib.kms.tests.vault_server import TOKEN, vault_server
from apps.lib.settings_values.kek_urls import parse_all
from apps.signing import kms
from tests.site.operations.test_doctor import _looked, findings_of, sealed, sound

__all__ = ["sound"]


def test_a_key_service_is_tried_and_its_token_never_shown(sound, settings, acme, worker_host, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    with vault_server() as bao:
        settings.SIGNING_KEKS = parse_all([bao.url(tmp_path / "token")], KINDS)
        sealed(acme)
        state, found = findings_of("key service")["key service"]
        assert (state, found.split(" in ")[0]) == (
            "ok",
            f"Vault at 127.0.0.1:{bao.port}, transit/keys/larder: wraps and unwraps",
        )
        state, found = findings_of("signing keys")["signing keys"]
        assert (state, "the key of Vault" in found) == ("ok", True)

        bao.status = 403
        kms.forget()
        for finding in [*_looked("key service"), *_looked("signing keys")]:
            assert TOKEN not in f"{finding}"
        assert findings_of("key service")["key service"][0] == "fail"
        assert findings_of("signing keys")["signing keys"][0] == "fail"

        bao.asked.clear()
        settings.WORKER_QUEUES = ["check"]
        assert findings_of("key service") == {}
        assert findings_of("signing keys")["signing keys"][0] == "ok"
        assert bao.asked == [], "a host that does not sign asks no service"

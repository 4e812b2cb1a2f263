"""A Larder with every way to sign in, and the provider of one of them, in a process."""

from collections.abc import Iterator

import pytest

from tests.builders.openid_server import provider_process
from tests.live import Live, start_live

ANN = {"sub": "ann-1", "preferred_username": "ann"}


@pytest.fixture(scope="package")
def signing_on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("ways")
    with provider_process(ANN) as issuer:
        secrets = folder / "secrets"
        secrets.write_text("acme=not-checked")
        variables = {
            "LARDER_OIDC_PROVIDERS": f"acme={issuer}",
            "LARDER_OIDC_CLIENT_IDS": "acme=larder",
            "LARDER_OIDC_SECRETS_FILE": str(secrets),
            "LARDER_OIDC_NAMES": "acme=The test provider",
            "LARDER_OIDC_NEW_ACCOUNTS": "acme=everyone",
        }
        with start_live(folder, why="people sign in by each kind of provider", **variables) as larder:
            yield larder

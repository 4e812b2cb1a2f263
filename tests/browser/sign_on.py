"""A Larder with every way to sign in, and the provider of one of them, in a process."""

import json
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
        acme = {"issuer": issuer, "client_id": "larder", "name": "The test provider", "new_accounts": "everyone"}
        file = folder / "sign-on.yaml"
        file.write_text(json.dumps({"secrets_file": str(secrets), "providers": {"acme": acme}}))
        variables = {"LARDER_SIGN_ON_FILE": str(file)}
        with start_live(folder, why="people sign in by each kind of provider", **variables) as larder:
            yield larder

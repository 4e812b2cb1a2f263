"""A Larder with every way to sign in, and the provider of one of them, in a thread."""

import html
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.builders import saml
from tests.builders.openid_server import provider_process
from tests.live import Live, start_live

ANN = {"sub": "ann-1", "preferred_username": "ann"}


@pytest.fixture(scope="package")
def signing_on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("ways")
    with provider_process(ANN) as issuer, acme_process(folder) as of_saml:
        secrets = folder / "secrets"
        secrets.write_text("acme=not-checked")
        variables = {
            "LARDER_OIDC_PROVIDERS": f"acme={issuer}",
            "LARDER_OIDC_CLIENT_IDS": "acme=larder",
            "LARDER_OIDC_SECRETS_FILE": str(secrets),
            "LARDER_OIDC_NAMES": "acme=The test provider",
            "LARDER_OIDC_NEW_ACCOUNTS": "acme=everyone",
        }
        with start_live(folder, why="people sign in by each kind of provider", **variables, **of_saml) as larder:
            yield larder


@contextmanager
def acme_process(folder: Path) -> Iterator[dict[str, str]]:
    """Run the provider; yields the variables of a Larder that trusts it."""
    source = folder / "provider.xml"
    acme = saml.Scripted(saml.Key(), str(source))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(acme)) as server:
        source.write_text(acme.metadata().replace(saml.SIGN_IN, f"http://localhost:{server.server_address[1]}/"))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield {
            "LARDER_SAML_PROVIDERS": f"try={source}",
            "LARDER_SAML_ENTITY_IDS": f"try={saml.ISSUER}",
            "LARDER_SAML_NAMES": "try=Acme ID",
            "LARDER_SAML_NEW_ACCOUNTS": "try=everyone",
        }
        server.shutdown()
        thread.join()


def handler_of(acme: saml.Scripted) -> type[BaseHTTPRequestHandler]:
    """The provider's page: a form that posts to where the request says."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            answer = acme.answer(self.path)
            (value,) = saml.form(acme.signed(answer)).values()
            page = (
                f'<link rel="icon" href="data:,"><form method="post" action="{html.escape(answer.recipient)}">'
                f'<input type="hidden" name="SAMLResponse" value="{value}"><button>I am Ann</button></form>'
            )
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

    return Handler

"""A Larder and an identity provider, in a thread, whose page posts its answer."""

import html
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from apps.contrib.saml.tests import scripted as saml
from tests.browser.conftest import chromium, watch
from tests.live import Live, start_live

__all__ = ["chromium", "watch"]


@pytest.fixture(scope="package")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("saml")
    source = folder / "provider.xml"
    acme = saml.Scripted(saml.Key(), str(source))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(acme)) as server:
        source.write_text(acme.metadata().replace(saml.SIGN_IN, f"http://localhost:{server.server_address[1]}/"))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        more = {"name": "Acme ID", "new_accounts": "everyone"}
        file = folder / "sign-on.yaml"
        file.write_text(json.dumps({"providers": {"try": {"metadata": str(source), "entity_id": saml.ISSUER} | more}}))
        with start_live(folder, why="people sign in by SAML", LARDER_SIGN_ON_FILE=str(file)) as larder:
            yield larder
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

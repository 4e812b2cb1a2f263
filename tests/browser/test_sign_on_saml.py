"""SAML with Chromium: the provider's page posts the answer from another site, so without the cookies of Larder."""

import html
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Watch
from tests.builders import saml
from tests.live import Live, start_live

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("saml")
    with acme_process(folder) as variables, start_live(folder, **variables) as larder:
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


def test_the_answer_from_another_site_signs_in_where_it_was_asked_for(
    chromium: Browser, larder: Live, watch: Watch
) -> None:
    context = chromium.new_context(ignore_https_errors=True, base_url=larder.url)
    page = context.new_page()
    page.on("console", watch.note)
    page.goto("/teams")
    page.get_by_role("button", name="Sign in with Acme ID").click()
    page.get_by_role("button", name="I am Ann").click()
    page.wait_for_url("**/teams")
    page.goto("/account/")
    expect(page.get_by_text("You are signed in as ann")).to_be_visible()
    page.goto("/account/reauthenticate/?next=/account/")
    page.get_by_role("button", name="Confirm with Acme ID").click()
    page.get_by_role("button", name="I am Ann").click()
    page.wait_for_url("**/account/")
    context.close()

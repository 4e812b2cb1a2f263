"""/how-to-use: right for this host and for this reader. Its check is in test_live_check.py."""

import html
import json
import re

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope
from registry_site.startup import certificates
from tests import documents, pages
from tests.portal.rows import add_module
from tests.rows import for_each_row

URL = "/how-to-use"


def snippets_of(response) -> str:
    return html.unescape(
        "\n\n".join(re.findall(r"<code data-copy-text>(.*?)</code>", response.content.decode(), re.DOTALL))
    )


@for_each_row(("host", "has_variable"), [("my-registry.example.com", True), ("registry.example.com:8443", False)])
def test_everything_is_made_for_this_host(client, db, settings, host, has_variable):
    settings.PUBLIC_HOST, settings.PUBLIC_URL = host, f"https://{host}"

    response = client.get(URL)
    said = snippets_of(response)

    assert f'source  = "{host}/acme/vpc/aws"' in said
    assert f'credentials "{host}" {{\n  token = "lrd_…"' in said
    assert f'"matchHost": "https://{host}/"' in said
    assert f'export LARDER_URL=https://{host}\ncurl -fsSo publish.sh "$LARDER_URL/publish/' in said
    assert "| sha256sum -c &&\nsh publish.sh acme/network/aws 1.0.0" in said
    assert ("export TF_TOKEN_my__registry_example_com=lrd_…" in said) is has_variable
    assert ("TF_TOKEN_my__registry_example_com: ${{ secrets.LARDER_TOKEN }}" in said) is has_variable
    assert ("> ~/.tofurc" in said) is not has_variable
    assert ("no shell can export that" in pages.text_of(response)) is not has_variable


def test_configurations_name_a_host_by_its_letters_and_everything_else_in_ascii(client, db, settings):
    written, wire = "registry.bücher.example", "registry.xn--bcher-kva.example"
    settings.ALLOWED_HOSTS = [wire]
    settings.PUBLIC_HOST, settings.PUBLIC_URL, settings.HOSTNAMES = wire, f"https://{wire}", frozenset({wire})

    response = client.get(URL, headers={"Host": wire})
    said = snippets_of(response)

    assert f'source  = "{written}/acme/vpc/aws"' in said
    assert f'credentials "{written}" {{' in said
    assert f'include             = ["{written}/*/*"]' in said
    assert f'"{wire}/providers/${{hostname}}/' in said
    assert "export TF_TOKEN_registry_xn____bcher__kva_example=lrd_…" in said
    assert f"machine {wire} login" in said
    assert f"export LARDER_URL=https://{wire}\n" in said
    assert "Clients use a different address from yours" not in pages.text_of(response)


@for_each_row(("host", "warns"), [("localhost:8443", True), ("larder", True), ("127.0.0.1:8443", False)])
def test_a_host_without_a_dot_cannot_serve_modules_and_says_so(client, db, settings, host, warns):
    settings.PUBLIC_HOST = host

    assert ("Modules don't work with this host name" in pages.text_of(client.get(URL))) is warns


def test_whoever_reads_it_under_another_name_is_told(client, db, settings):
    settings.PUBLIC_HOST = "127.0.0.1:8443"

    assert "Clients use a different address" in pages.text_of(client.get(URL, headers={"host": "localhost:8443"}))
    assert "Clients use a different address" not in pages.text_of(client.get(URL, headers={"host": "127.0.0.1:8443"}))


def test_the_first_module_is_one_that_the_reader_sees(client, browser_of, bob, acme, pantry, settings):
    settings.PUBLIC_HOST = "registry.example.com"
    add_module(pantry, "label/null", "1.0.0", "2.0.0-rc.1")
    assert 'registry.example.com/pantry/label/null"\n  version = "1.0.0"' in snippets_of(client.get(URL))

    add_module(acme, "vpc/aws", "3.0.0", "3.1.0")

    assert "acme/vpc/aws" not in snippets_of(client.get(URL))
    assert 'registry.example.com/acme/vpc/aws"\n  version = "3.1.0"' in snippets_of(browser_of(bob).get(URL))


def test_it_lists_the_readers_usable_tokens_by_label_and_never_their_text(browser_of, alice, bob):
    _, secret = tokens.issue(user=alice, label="Laptop", scope=Scope.READ, actor=Viewer(alice))
    old, _ = tokens.issue(user=alice, label="Old one", scope=Scope.READ, actor=Viewer(alice))
    tokens.revoke(token=old, actor=Viewer(alice))
    tokens.issue(user=bob, label="Bob's own", scope=Scope.READ, actor=Viewer(bob))

    page = pages.text_of(browser_of(alice).get(URL))

    assert "Laptop" in page
    assert secret[:10] in page
    assert secret not in page
    assert "Old one" not in page
    assert "Bob's own" not in page


def test_own_authority_is_shown_with_its_fingerprint(browser_of, bob, client, settings, tmp_path):
    settings.DATA_DIR, settings.TLS, settings.PUBLIC_URL = tmp_path, "auto", "https://127.0.0.1:8443"
    files = certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url=settings.PUBLIC_URL)
    assert files is not None
    assert files.ca is not None

    response = client.get(URL)

    assert certificates.fingerprint(files.ca) in pages.text_of(response)
    assert files.ca.read_text().strip() in snippets_of(response)
    assert str(tmp_path) not in pages.text_of(response), "where its files lie is not everybody's business"
    assert f"export SSL_CERT_FILE={tmp_path}/tls/bundle.pem" in snippets_of(browser_of(bob).get(URL))
    settings.TLS = "/etc/larder/cert.pem:/etc/larder/key.pem"
    assert "BEGIN CERTIFICATE" not in pages.text_of(client.get(URL))


def test_it_costs_the_same_for_much_and_for_little(browser_of, alice, acme, django_assert_max_num_queries):
    add_module(acme, "vpc/aws", *[f"1.{number}.0" for number in range(9)])
    for number in range(9):
        tokens.issue(user=alice, label=f"t{number}", scope=Scope.READ, actor=Viewer(alice))
    browser = browser_of(alice)

    with django_assert_max_num_queries(6):  # session, user, module, namespace, tokens
        assert browser.get(URL).status_code == 200


def test_the_host_rule_of_renovate_is_that_of_the_recipe(client, db, settings):
    settings.PUBLIC_HOST, settings.PUBLIC_URL = "registry.example.com", "https://registry.example.com"
    [recipe] = [one.text for one in documents.fences("docs/recipes/update-bots.md") if one.language == "json"]

    response = client.get(URL)

    shown = json.loads(re.findall(r'\{\s*"hostRules".*?\}\s*\]\s*\}', snippets_of(response), re.DOTALL)[0])
    assert shown == {"hostRules": json.loads(recipe)["hostRules"]}
    assert 'href="/help/recipes/update-bots"' in response.content.decode()


def test_it_says_how_oci_clients_sign_in_pull_push_and_mirror_where_a_host_name_is_known(client, db, settings, acme):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "registry.example.com:8443", frozenset({"registry.example.com"})

    said = snippets_of(client.get(URL))

    assert 'source = "oci://registry.example.com:8443/acme/vpc/aws?tag=1.0.0"' in said
    assert "docker login registry.example.com:8443 --username token --password-stdin" in said
    assert "oras login registry.example.com:8443 --username token --password-stdin" in said
    assert 'oci_credentials "registry.example.com:8443" {\n  username = "token"' in said
    assert "registry.example.com:8443/acme/network/aws:1.0.0 network-1.0.0.zip:archive/zip" in said
    assert '--annotation "org.opencontainers.image.created=' in said
    mirror = '"registry.example.com:8443/providers/${hostname}/${namespace}/${type}"'
    assert f'repository_template = {mirror}\n    include             = ["registry.example.com/*/*"]' in said
    settings.HOSTNAMES = frozenset()
    assert "oci_mirror" not in snippets_of(client.get(URL))


def test_plain_http_needs_a_block_that_answers_discovery_and_the_footer_leads_there(client, db, settings):
    settings.PUBLIC_URL, settings.PUBLIC_HOST = "http://127.0.0.1:8080", "127.0.0.1:8080"

    said = snippets_of(client.get(URL))

    assert 'host "127.0.0.1:8080"' in said
    assert '"modules.v1"   = "http://127.0.0.1:8080/v1/modules/"' in said
    assert '"providers.v1" = "http://127.0.0.1:8080/v1/providers/"' in said
    assert f'href="{URL}"' in client.get("/").content.decode()

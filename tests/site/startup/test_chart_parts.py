"""Parts of the chart: entrances, metrics, single sign-on, storage, authorities, backups, `helm test`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from registry_site import env, healthcheck
from tests import charts
from tests.charts import Document, containers, example, of_kind, pods, rendered, values_of, variables
from tests.live import CHECKOUT

pytestmark = pytest.mark.needs("helm")

RULES = CHECKOUT / "deploy" / "prometheus" / "alerts.yml"
SCRAPED = {"web": 8080, "worker": 9464, "notify-worker": 9464, "upstream-worker": 9464, "signing-worker": 9464}


def mounted(documents: list[Document], name: str) -> set[str]:
    """The components whose pods have this secret, ConfigMap or claim as files."""
    return {component for component, pod in pods(documents).items() if f'"{name}"' in json.dumps(pod["volumes"])}


def peers(documents: list[Document], component: str) -> list[Document]:
    """Return the peers that may ask this component, and at which port."""
    [rule] = of_kind("NetworkPolicy", documents)[component]["spec"]["ingress"]
    return [*rule["from"], *rule["ports"]]


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """This process with the variables of a pod, and the files that it mounts."""

    def become(found: dict[str, str], files: dict[str, str]) -> None:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(here(text))
        for name, value in found.items():
            monkeypatch.setenv(name, here(value))

    def here(text: str) -> str:
        return text.replace("/secrets/", f"{tmp_path}/secrets/").replace("/config/", f"{tmp_path}/config/")

    return become


# --- Entrances --------------------------------------------------------------------------------------------------------


def test_an_ingress_leads_the_host_of_the_public_address_to_the_web_servers() -> None:
    documents = example("ingress")
    [ingress] = of_kind("Ingress", documents).values()
    [service] = [one for one in of_kind("Service", documents).values() if one["metadata"]["name"] == "here-larder"]
    [rule] = ingress["spec"]["rules"]

    assert (rule["host"], ingress["spec"]["tls"][0]["hosts"]) == ("registry.acme.example", ["registry.acme.example"])
    assert rule["http"]["paths"][0]["backend"] == {"service": {"name": "here-larder", "port": {"name": "http"}}}
    assert service["spec"]["ports"][0]["name"] == "http"
    assert variables(documents)["web"]["LARDER_TRUSTED_PROXIES"] == "10.0.3.7"
    assert variables(documents)["web"]["LARDER_HSTS_SECONDS"] == "31536000"


def test_a_gateway_does_so_too_and_another_host_can_be_named() -> None:
    documents = example("gateway")
    [route] = of_kind("HTTPRoute", documents).values()
    [service] = [one for one in of_kind("Service", documents).values() if one["metadata"]["name"] == "here-larder"]

    assert route["spec"]["parentRefs"] == [{"name": "public", "namespace": "gateways", "sectionName": "https"}]
    assert route["spec"]["hostnames"] == ["registry.acme.example"]
    assert route["spec"]["rules"][0]["backendRefs"] == [
        {"name": "here-larder", "port": service["spec"]["ports"][0]["port"]}
    ]
    [other] = of_kind("HTTPRoute", example("gateway", "--set", "gateway.host=modules.acme.example")).values()
    assert other["spec"]["hostnames"] == ["modules.acme.example"]
    assert "Ingress" not in {one["kind"] for one in documents}


# --- Metrics ----------------------------------------------------------------------------------------------------------


def test_prometheus_finds_each_process_that_counts_and_may_ask_it() -> None:
    documents = example("metrics")
    [monitor] = of_kind("ServiceMonitor", documents).values()
    wanted = monitor["spec"]["selector"]["matchLabels"]
    scraped = {one["port"] for one in monitor["spec"]["endpoints"]}
    found = {}
    for service in of_kind("Service", documents).values():
        assert wanted.items() <= service["metadata"]["labels"].items()
        component = service["spec"]["selector"]["app.kubernetes.io/component"]
        [port] = service["spec"]["ports"]
        [open_port] = [one for one in containers(documents)[component]["ports"] if one["name"] == port["targetPort"]]
        assert port["name"] in scraped
        found[component] = open_port["containerPort"]
        prometheus = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
        assert prometheus in peers(documents, component)
        assert {"port": found[component], "protocol": "TCP"} in peers(documents, component)

    assert found == SCRAPED
    for component in SCRAPED.keys() - {"web"}:
        assert variables(documents)[component]["LARDER_METRICS_LISTEN"] == "0.0.0.0:9464"


def test_prometheus_sends_the_token_that_they_read() -> None:
    documents = example("metrics")
    [monitor] = of_kind("ServiceMonitor", documents).values()
    sent = {json.dumps(one["authorization"]["credentials"]) for one in monitor["spec"]["endpoints"]}

    assert sent == {json.dumps({"name": "larder-metrics", "key": "token"})}
    assert mounted(documents, "larder-metrics") == SCRAPED.keys()
    for component in SCRAPED:
        assert variables(documents)[component]["LARDER_METRICS_TOKEN_FILE"] == "/secrets/metrics/token"


def test_the_rules_are_those_of_deploy_prometheus_and_see_the_labels_that_they_expect() -> None:
    documents = example("metrics")
    [rules] = of_kind("PrometheusRule", documents).values()
    [monitor] = of_kind("ServiceMonitor", documents).values()

    assert rules["spec"]["groups"] == yaml.safe_load(RULES.read_text())["groups"]
    assert rules["metadata"]["labels"]["release"] == monitor["metadata"]["labels"]["release"] == "prometheus"
    # `up{job="larder"}`, and sums `without (instance)`: no further label of a pod divides them.
    job = {one["metadata"]["labels"][monitor["spec"]["jobLabel"]] for one in of_kind("Service", documents).values()}
    assert job == {"larder"}
    for endpoint in monitor["spec"]["endpoints"]:
        assert {"action": "labeldrop", "regex": "pod|container|endpoint|service"} in endpoint["relabelings"]


def test_without_metrics_no_worker_is_asked() -> None:
    documents = example("minimal")

    assert of_kind("NetworkPolicy", documents)["worker"]["spec"]["ingress"] == []
    assert all("LARDER_METRICS_LISTEN" not in one for one in variables(documents).values())
    assert of_kind("Service", documents).keys() == {""}


# --- Single sign-on, storage, authorities -----------------------------------------------------------------------------


def test_only_web_servers_know_the_client_secrets() -> None:
    documents = example("single-sign-on")

    assert mounted(documents, "larder-sign-on") == mounted(documents, "larder-saml") == {"web"}
    assert {name for name, one in variables(documents).items() if "LARDER_SIGN_ON_FILE" in one} == {"web"}


def test_storage_on_azure_has_the_key_of_its_account(process: Any) -> None:
    documents = example("azure")
    for found in variables(documents).values():
        process(found, {"secrets/azure/key": "0123456789abcdef0123456789abcdef\n"})
        url = env.storage_url("LARDER_STORAGE_URL", "")
        assert url == "azure://modules/prod?account=acmelarder"
        assert env.azure_key("LARDER_AZURE_KEY_FILE", url) == "0123456789abcdef0123456789abcdef"
    assert mounted(documents, "larder-azure") == pods(documents).keys()


def test_storage_at_google_has_its_credentials() -> None:
    documents = example("google")
    for found in variables(documents).values():
        assert found["LARDER_STORAGE_URL"] == "gs://acme-larder/prod"
        assert found["GOOGLE_APPLICATION_CREDENTIALS"] == "/secrets/google/credentials.json"
    assert mounted(documents, "larder-google") == pods(documents).keys()
    # With a role of the cloud there is no file.
    assert (
        mounted(rendered(*values_of("google"), "--set", "existingSecrets.googleCredentials="), "larder-google") == set()
    )


def test_every_process_trusts_a_private_authority() -> None:
    documents = example("private-ca")
    for name, found in variables(documents).items():
        for variable in ("SSL_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
            assert found[variable] == "/config/ca/ca.crt", name
    assert mounted(documents, "larder-ca") == pods(documents).keys()


# --- Backups and `helm test` ------------------------------------------------------------------------------------------


def test_a_backup_runs_by_night_as_the_owner_of_the_tables() -> None:
    documents = example("backup")
    [job] = of_kind("CronJob", documents).values()
    container = containers(documents)["backup"]

    assert (job["spec"]["schedule"], job["spec"]["concurrencyPolicy"]) == ("17 1 * * *", "Forbid")
    assert container["args"] == ["python", "manage.py", "backup"]
    found = variables(documents)["backup"]
    assert found["LARDER_BACKUP_URL"] == "s3://acme-larder-backup?region=eu-central-1"
    assert found["LARDER_BACKUP_KEEP"] == "30"
    assert found["LARDER_BACKUP_RECIPIENT_FILE"] == "/config/backup/recipient"
    assert mounted(documents, "larder-backup-recipient") == {"backup"}
    assert [one["secretRef"]["name"] for one in container["envFrom"]] == ["larder", "larder-owner", "larder-backup"]
    assert {name for name, one in containers(documents).items() if "larder-backup" in json.dumps(one)} == {"backup"}


def test_each_backup_into_a_volume_has_a_new_folder() -> None:
    documents = example("backup-to-a-volume")
    container = containers(documents)["backup"]

    assert container["args"] == ["python", "manage.py", "backup", "/backup/$(POD_NAME)"]
    assert {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}} in container["env"]
    assert {"name": "backup", "mountPath": "/backup"} in container["volumeMounts"]
    assert mounted(documents, "larder-backup") == {"backup"}
    # A second try has another pod, and with it another folder.
    assert pods(documents)["backup"]["restartPolicy"] == "Never"


def test_helm_test_asks_the_web_servers_through_their_service() -> None:
    documents = example("gateway")
    job = of_kind("Job", documents)["test"]
    container = containers(documents)["test"]
    asks = {"podSelector": {"matchLabels": charts.templates(documents)["test"]["metadata"]["labels"]}}
    asked = {"podSelector": {"matchLabels": charts.templates(documents)["web"]["metadata"]["labels"]}}
    [_, egress] = of_kind("NetworkPolicy", documents)["test"]["spec"]["egress"]

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert container["args"][:3] == ["python", "-m", "registry_site.healthcheck"]
    assert container["args"][3] in healthcheck.MODES
    assert variables(documents)["test"]["LARDER_LISTEN"] == "here-larder:80"
    # The values let only the gateway in; the test is let in besides.
    assert asks in peers(documents, "web")
    assert egress == {"ports": [{"port": 8080, "protocol": "TCP"}], "to": [asked]}

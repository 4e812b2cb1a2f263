"""The chart's values: Kubernetes takes every example, a typo is refused, and each pod gets what its values say."""

import json
import re
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from registry_site import healthcheck
from tests import charts
from tests.charts import CHART, EXAMPLES, Document, example, helm, of_kind, refusal
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("helm")

KUBERNETES = "1.33"
CUSTOM = {
    kind: one
    for kind, one in json.loads(Path(__file__).with_name("custom_resources.json").read_text()).items()
    if kind != "$comment"
}
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
LONG_RUNNING = {"web", "worker", "notify-worker", "upstream-worker", "signing-worker"}


def validate(document: Document) -> None:
    import jsonschema
    import kubernetes_validate

    if document["kind"] in CUSTOM:
        jsonschema.Draft202012Validator(CUSTOM[document["kind"]]).validate(document)
    else:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


@pytest.mark.slow
@for_each_row("name", EXAMPLES)
def test_helm_finds_no_fault_in_an_example(name: str) -> None:
    assert "0 chart(s) failed" in helm("lint", str(CHART), "--strict", *charts.values_of(name))


@pytest.mark.slow
@for_each_row("name", EXAMPLES)
def test_kubernetes_takes_every_document_of_an_example(name: str) -> None:
    documents = example(name)
    for document in documents:
        validate(document)

    assert len({(one["kind"], one["metadata"]["name"]) for one in documents}) == len(documents) > 20


@pytest.mark.slow
def test_the_examples_have_what_the_chart_can_make() -> None:
    """So that the tests above see each template, and each kind that Kubernetes gets from others."""
    kinds = {one["kind"] for name in EXAMPLES for one in example(name)}

    assert len(EXAMPLES) >= 8
    assert kinds >= {"CronJob", "HorizontalPodAutoscaler", "Ingress", "Job", "PodDisruptionBudget", *CUSTOM}


def test_the_readme_lists_each_example_and_each_value_for_all_pods() -> None:
    text = (CHART / "README.md").read_text()

    assert sorted(re.findall(r"^\| \[([\w-]+)\]\(examples/\1\.yaml\)", text, re.MULTILINE)) == EXAMPLES
    assert {name for name in SCHEMA["properties"]["worker"]["properties"] if f"`{name}`" not in text} == {
        "replicas",
        "resources",
    }


def test_a_custom_resource_with_a_typo_is_refused() -> None:
    """The tests above rely on it."""
    [route] = of_kind("HTTPRoute", example("gateway")).values()
    spec = {**route["spec"], "hostname": ["registry.acme.example"]}

    from jsonschema import ValidationError

    with pytest.raises(ValidationError, match="hostname"):
        validate({**route, "spec": spec})


# --- What is asked for, and what is refused ---------------------------------------------------------------------------


@pytest.mark.slow
@for_each_row(
    ("typo", "said"),
    [
        ("ingres.enabled=true", "ingres"),
        ("web.replica=3", "replica"),
        ("worker.emptyDir.dta=1Gi", "dta"),
        ("signingWorker.extraEnvs[0].name=A", "extraEnvs"),
        ("signOn.oidc.corp.issur=https://id.acme.example", "issur"),
        ("signOn.oidc.corp.issuer=https://id.acme.example", "clientId is required"),
        ("metrics.serviceMonitor.enable=true", "enable"),
        ("networkPolicy.storage.port={443}", "port"),
        ("networkPolicy.metricsFrom[0].podSelecter.matchLabels.a=b", "podSelecter"),
        ("existingSecrets.sign_on=a", "sign_on"),
        ("backup.shedule=0 1 * * *", "shedule"),
        ("image.digest=abc", "Does not match pattern"),
        ("metrics.port=many", "integer"),
        ("env.LARDER-LOG=a", "LARDER-LOG"),
    ],
)
def test_a_typo_fails(typo: str, said: str) -> None:
    found = refusal(*charts.values_of("minimal"), "--set", typo)

    assert "don't meet the specifications of the schema" in found
    assert said in found


@for_each_row(
    ("values", "said"),
    [
        ("publicUrl=", "publicUrl is needed"),
        ("image.digest=", "image.digest is needed"),
        ("ingress.enabled=true", "trustedProxies is needed"),
        ("gateway.enabled=true,gateway.parentRefs[0].name=public", "trustedProxies is needed"),
        ("gateway.enabled=true,trustedProxies=10.0.0.5", "gateway.parentRefs is needed"),
        ("metrics.enabled=true", "existingSecrets.metrics is needed"),
        ("backup.enabled=true", "backup.url or backup.existingClaim is needed"),
    ],
)
def test_what_has_no_default_is_asked_for(values: str, said: str) -> None:
    assert said in refusal(*charts.values_of("minimal"), "--set", values)


def test_an_image_is_named_by_a_tag_only_if_asked() -> None:
    found = charts.containers(example("minimal", "--set", "image.digest=,image.tag=1.2"))

    assert {one["image"] for one in found.values()} == {"registry.acme.example:5000/larder:1.2"}


def test_the_schema_knows_the_names_of_the_values_and_no_others() -> None:
    """Helm refuses names in values.yaml that the schema lacks; a component takes those for all pods as well."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    components = {name for name, one in SCHEMA["properties"].items() if "extraEnv" in one.get("properties", ())}
    for_all = SCHEMA["properties"]["worker"]["properties"].keys() & values.keys()

    def missing(schema: dict[str, Any], found: dict[str, Any], path: str) -> list[str]:
        names = schema["properties"].keys() - (for_all if path in components else {"global"})
        below = [name for name in names & found.keys() if "properties" in schema["properties"][name]]
        return [f"{path}.{name}" for name in names - found.keys()] + [
            one for name in below for one in missing(schema["properties"][name], found[name], name)
        ]

    assert components == {"web", "worker", "notifyWorker", "upstreamWorker", "signingWorker", "beat", "jobs", "backup"}
    assert missing(SCHEMA, values, "") == []


# --- What each pod gets -----------------------------------------------------------------------------------------------

FOR_ALL_AND_ONE: dict[str, Any] = {
    "env": {"LARDER_HSTS_SECONDS": 31536000, "LARDER_LOG_LEVEL": "INFO", "OTEL_TRACES_SAMPLER_ARG": 0.05},
    "extraEnv": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    "extraEnvFrom": [{"configMapRef": {"name": "proxies"}}],
    "extraVolumes": [{"name": "notes", "emptyDir": {"sizeLimit": "1Mi"}}],
    "extraVolumeMounts": [{"name": "notes", "mountPath": "/notes"}],
    "podLabels": {"team": "platform", "app.kubernetes.io/name": "other"},
    "podAnnotations": {"a": "for all"},
    "priorityClassName": "usual",
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    "tolerations": [{"key": "pool", "operator": "Exists"}],
    "nodeSelector": {"pool": "registry"},
    "emptyDir": {"data": "3Gi"},
    "worker": {
        "env": {"LARDER_LOG_LEVEL": "DEBUG", "LARDER_LISTEN": "0.0.0.0:9000"},
        "extraEnv": [{"name": "MINE", "value": "1"}],
        "extraEnvFrom": [{"secretRef": {"name": "mine"}}],
        "extraVolumes": [{"name": "mine", "emptyDir": {"sizeLimit": "1Mi"}}],
        "extraVolumeMounts": [{"name": "mine", "mountPath": "/mine"}],
        "podLabels": {"tier": "checks"},
        "podAnnotations": {"a": "for workers"},
        "priorityClassName": "first",
        "emptyDir": {"tmp": "5Gi"},
    },
}


@cache
def with_extras() -> dict[str, Document]:
    words = [word for name, value in FOR_ALL_AND_ONE.items() for word in ("--set-json", f"{name}={json.dumps(value)}")]
    documents = example("minimal", *words)
    for document in documents:
        validate(document)
    return charts.templates(documents)


def test_every_pod_gets_what_is_for_all() -> None:
    for name, template in with_extras().items():
        labels, spec = template["metadata"]["labels"], template["spec"]
        container = spec["containers"][0]
        assert (labels["team"], labels["app.kubernetes.io/name"]) == ("platform", "larder"), name
        assert {"name": "NODE", **FOR_ALL_AND_ONE["extraEnv"][0]} in container["env"]
        assert FOR_ALL_AND_ONE["extraEnvFrom"][0] in container["envFrom"]
        assert FOR_ALL_AND_ONE["extraVolumes"][0] in spec["volumes"]
        assert FOR_ALL_AND_ONE["extraVolumeMounts"][0] in container["volumeMounts"]
        assert (spec["tolerations"], spec["nodeSelector"]) == (
            FOR_ALL_AND_ONE["tolerations"],
            FOR_ALL_AND_ONE["nodeSelector"],
        )
        [spread] = spec["topologySpreadConstraints"]
        assert spread["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == name
        if name != "worker":
            assert template["metadata"]["annotations"] == {"a": "for all"}
            assert (spec["priorityClassName"], "tier" in labels) == ("usual", False)
            assert "mine" not in json.dumps(template)


def test_a_component_adds_to_it_and_goes_before() -> None:
    worker = with_extras()["worker"]
    labels, spec = worker["metadata"]["labels"], worker["spec"]
    container = spec["containers"][0]
    named = {one["name"]: one.get("value") for one in container["env"]}
    limits = {one["name"]: one["emptyDir"]["sizeLimit"] for one in spec["volumes"] if "emptyDir" in one}

    assert (labels["team"], labels["tier"], worker["metadata"]["annotations"]) == (
        *("platform", "checks"),
        {"a": "for workers"},
    )
    assert spec["priorityClassName"] == "first"
    assert (named["LARDER_LOG_LEVEL"], named["LARDER_LISTEN"], named["MINE"]) == ("DEBUG", "0.0.0.0:9000", "1")
    assert (named["LARDER_HSTS_SECONDS"], named["OTEL_TRACES_SAMPLER_ARG"]) == ("31536000", "0.05")
    assert len(container["env"]) == len(named)
    assert container["envFrom"][-2:] == [{"configMapRef": {"name": "proxies"}}, {"secretRef": {"name": "mine"}}]
    assert limits == {"data": "3Gi", "tmp": "5Gi", "notes": "1Mi", "mine": "1Mi"}


@pytest.mark.slow
@for_each_row("name", EXAMPLES)
def test_no_pod_may_fill_the_disk_of_its_node(name: str) -> None:
    for pod in charts.pods(example(name)).values():
        assert [one for one in pod["volumes"] if "emptyDir" in one and "sizeLimit" not in one["emptyDir"]] == []


def test_each_process_is_restarted_by_its_own_state() -> None:
    found = charts.containers(example("minimal"))
    apart = charts.containers(example("minimal", "--set", "beat.enabled=true"))
    assert [one["notify-worker"]["args"][-1] for one in (found, apart)] == ["--beat", "worker"]
    found |= {"beat": apart["beat"]}
    for name in found.keys() & (LONG_RUNNING | {"beat"}) - {"web"}:
        mode = "beat" if name == "beat" else "worker"
        command = ["python", "-m", "registry_site.healthcheck", mode]
        assert mode in healthcheck.MODES
        assert [found[name][probe]["exec"]["command"] for probe in ("startupProbe", "livenessProbe")] == [command] * 2
        assert "readinessProbe" not in found[name]
    assert found["web"]["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert found["web"]["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {name for name, one in found.items() if "livenessProbe" in one} == LONG_RUNNING | {"beat"}


def test_nodes_are_drained_one_pod_of_a_kind_at_a_time() -> None:
    documents = example("scaled")
    budgets = of_kind("PodDisruptionBudget", documents)

    assert budgets.keys() == LONG_RUNNING
    for name, budget in budgets.items():
        assert budget["spec"]["maxUnavailable"] == 1
        assert budget["spec"]["selector"] == of_kind("Deployment", documents)[name]["spec"]["selector"]


def test_the_packaged_chart_has_the_rules_and_no_link(tmp_path: Path) -> None:
    helm("package", str(CHART), "--destination", str(tmp_path))
    [package] = tmp_path.glob("larder-*.tgz")

    with tarfile.open(package) as archive:
        rules = archive.getmember("larder/files/prometheus/alerts.yml")
        assert rules.isfile()
        assert rules.size == (CHART.parents[1] / "prometheus" / "alerts.yml").stat().st_size
        assert "larder/values.schema.json" in archive.getnames()

"""What the chart shares with a cluster: users, variables of services, addresses, names, and upgrades by hooks."""

import pytest
import yaml

from tests import charts
from tests.charts import CHART, example, helm
from tests.rows import for_each_row
from tests.site.startup.test_chart import LONG_RUNNING

pytestmark = pytest.mark.needs("helm")


def test_openshift_gives_pods_a_user_of_their_namespace() -> None:
    documents = example("openshift")

    for pod in charts.pods(documents).values():
        assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]


def test_no_variable_of_a_service_reaches_a_pod() -> None:
    assert {pod["enableServiceLinks"] for pod in charts.pods(example("minimal")).values()} == {False}


def test_a_cluster_with_ipv6_alone_is_listened_on() -> None:
    found = charts.variables(example("metrics", "--set", "listenAddress=[::]"))

    assert found["web"]["LARDER_LISTEN"] == "[::]:8080"
    assert found["worker"]["LARDER_METRICS_LISTEN"] == "[::]:9464"


@for_each_row(
    ("release", "values", "first"),
    [
        ("here", (), "here-larder"),
        ("larder", (), "larder"),
        ("acme-larder", (), "acme-larder"),
        ("here", ("--set", "fullnameOverride=modules"), "modules"),
        ("a" * 53, (), "a" * 46),
    ],
    ids=["release and chart", "once", "once in a longer one", "as asked", "no longer than Kubernetes takes"],
)
def test_names_begin_with_the_release_and_do_not_repeat(release: str, values: tuple[str, ...], first: str) -> None:
    words = [*charts.values_of("backup"), *values]
    documents = [one for one in yaml.safe_load_all(helm("template", release, str(CHART), *words)) if one]
    names = {one["metadata"]["name"] for one in documents}

    assert {name for name in names if name != first and not name.startswith(f"{first}-")} == set()
    assert max(map(len, names)) <= 63


def test_an_upgrade_deletes_nothing_that_running_pods_use() -> None:
    """Helm deletes a hook before it makes it again."""
    documents = example("scaled")
    hooks = [one for one in documents if "helm.sh/hook" in one["metadata"].get("annotations", {})]
    running = [charts.pods(documents)[name] for name in LONG_RUNNING]

    assert {one["kind"] for one in hooks} == {"Job", "NetworkPolicy", "ServiceAccount"}
    accounts = {one["metadata"]["name"] for one in hooks if one["kind"] == "ServiceAccount"}
    assert accounts
    assert not accounts & {pod["serviceAccountName"] for pod in running}
    selected = {
        one["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for one in hooks
        if one["kind"] == "NetworkPolicy"
    }
    assert selected == {"migrate", "roles"}

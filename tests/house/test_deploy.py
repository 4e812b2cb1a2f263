"""Alert rules and dashboard in deploy/: they ask for metrics and labels that /metrics has, and promtool takes them."""

import json
import re
import subprocess
from datetime import timedelta

import pytest
import yaml
from cryptography import x509
from django.test import Client
from django.utils import timezone
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from apps.blobs.care import runs
from apps.jobs import heartbeats
from apps.jobs.queues import QUEUES
from apps.lib.markdown import rendering
from apps.lib.process import metrics
from apps.portal.help import manual
from registry_site.front.front import front
from registry_site.monitoring import public_certificate
from registry_site.monitoring.clients import clients
from registry_site.server import probes, threads
from registry_site.server.forwarded import DIRECT_PEER
from registry_site.startup import certificates
from tests import rooms
from tests.cast import BLOBS
from tests.house import sources
from tests.protocol.providers.cast import frozen_key

RULES = sources.CHECKOUT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = sources.CHECKOUT / "deploy" / "grafana" / "larder.json"
PAGE = sources.CHECKOUT / "docs" / "operations" / "monitoring.md"
NAME = re.compile(r"\blarder_[a-z_]+")
LABELS = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
MATCHED = re.compile(r"[{,]\s*(\w+)\s*[=!]")
# The address of this Larder, as Prometheus fills it in.
SITE = '{{ with query "last_over_time(larder_site_info[7d])" }}{{ . | first | label "url" }}{{ end }}'
# Backups and checks, database, threads, clients, notifications, sign-ins.
ON_CALL = {
    "larder_run_age_seconds", "larder_run_ok", "larder_database_bytes", "larder_database_connections", "larder_threads",
    "larder_rate_limit_refusals_total", "larder_top_client_requests", "larder_notifications_total",
    "larder_notify_waiting", "larder_notify_oldest_seconds", "larder_sign_ins_total", "larder_beat_age_seconds",
    "larder_queue_workers", "larder_data_folder_free_bytes",
    *rooms.entries("ON_CALL"),
}  # fmt: skip
# What Prometheus adds.
ADDED = {"instance", "job"}


@pytest.fixture
def document(settings, tmp_path, monkeypatch, acme, dora, bearer):
    """/metrics of a Larder that has counted everything once, and in which everything expires."""
    monkeypatch.setattr(probes.checks, "states", lambda: dict.fromkeys(probes.PARTS, "ok"))
    monkeypatch.setitem(front.table.answers, ("protocol:discovery", 200), 1)
    monkeypatch.setitem(front.stale.answers, "protocol:discovery", 1)
    for metric in metrics.registry._collector_to_names:
        if isinstance(metric, MetricWrapperBase) and metric._labelnames:
            metric.labels(*("none" for _ in metric._labelnames))
    settings.DATA_DIR, settings.TLS = tmp_path, "auto"
    files = certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url="https://127.0.0.1")
    assert files is not None
    seen = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    monkeypatch.setattr(public_certificate.watch, "seen", seen)
    frozen_key(acme, expires_at=timezone.now() + timedelta(days=40))
    bearer(dora)
    for name, value in rooms.rows("WATCHED_SETTINGS").items():
        setattr(settings, name, value)
    for watch in rooms.contributed("watched"):
        watch(acme, dora)
    heartbeats.ring("here:1")
    runs.record(runs.What.BACKUP, is_good=True)
    monkeypatch.setitem(threads.pools, "web", threads.CountedThreads(1, "web"))
    clients.top()  # the counts of a process that nobody has asked for ten minutes end here
    clients.note("192.0.2.7")
    BLOBS.mkdir(parents=True, exist_ok=True)
    client = Client()
    client.defaults[DIRECT_PEER] = "127.0.0.1"
    return client.get("/metrics").text


@pytest.fixture
def exported(document):
    """The labels of each sample, by its name."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(document):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def family(name):
    return re.sub(r"_(total|bucket|sum|count|info)\Z", "", name)


def rules():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [rule["expr"] for rule in rules()] + [target["expr"] for panel in panels for target in panel["targets"]]


def test_rules_and_dashboard_ask_for_what_metrics_has(exported):
    for expression in expressions():
        used = set(NAME.findall(expression))
        if used.isdisjoint(exported) and not rooms.ARE_ALL_HERE:
            continue
        assert used <= exported.keys(), expression
        labels = {label.strip() for found in LABELS.findall(expression) for label in found.split(",")}
        labels |= set(MATCHED.findall(expression))
        assert labels <= ADDED.union(*(exported[name] for name in used)), expression
    assert len({name for expression in expressions() for name in NAME.findall(expression)}) > 15


def test_the_documentation_lists_every_metric_and_no_other(exported):
    section = PAGE.read_text().split("\n## Metrics\n")[1].split("\n## ")[0]

    named, exists = ({family(name) for name in names} for names in (NAME.findall(section), exported))
    assert exists <= named
    assert named == exists or not rooms.ARE_ALL_HERE


def test_each_rule_names_a_severity_and_a_part_of_the_documentation_and_links_to_it():
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
        page, _, heading = rule["annotations"]["runbook"].partition(", ")
        text = (sources.CHECKOUT / page).read_text()
        assert re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE) or not heading, rule["alert"]
        name = page.removeprefix("docs/").removesuffix(".md")
        at = manual.url_of(name, rendering.slug_of(heading) if heading else "")
        assert rule["annotations"]["runbook_url"] == SITE + at, rule["alert"]


def test_each_link_of_a_rule_leads_to_a_heading_of_the_help(client, db):
    for link in sorted({rule["annotations"]["runbook_url"].removeprefix(SITE) for rule in rules()}):
        path, _, anchor = link.partition("#")
        answer = client.get(path)
        assert answer.status_code == 200, link
        assert f'id="{anchor}"' in answer.text or not anchor, link


def test_the_dashboard_shows_what_an_operator_on_call_asks_for():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = {name for panel in panels for target in panel["targets"] for name in NAME.findall(target["expr"])}

    assert shown >= ON_CALL
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len({panel["id"] for panel in panels}) == len(panels)


def promtool(*words, **options):
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.needs("promtool")
def test_promtool_accepts_the_rules_and_the_queries_of_the_dashboard(tmp_path):
    """A query becomes the rule of a record, since promtool knows no dashboards."""
    queries = [{"record": f"query{number}", "expr": expression} for number, expression in enumerate(expressions())]
    written = tmp_path / "dashboard.yml"
    written.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": queries}]}))

    promtool("check", "rules", RULES, written)


def check_alert(folder, alert, series, queues, minutes=10):
    """It fires for these queues, and no others, after some minutes of such figures."""
    [rule] = [{**rule, "annotations": {}} for rule in rules() if rule["alert"] == alert]
    written, asked = folder / "rule.yml", folder / "test.yml"
    written.write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [rule]}]}))
    fires = [{"exp_labels": {"queue": queue, "severity": rule["labels"]["severity"]}} for queue in queues]
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": f"{value}x{minutes}"} for name, value in series.items()],
        "alert_rule_test": [{"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": fires}],
    }
    asked.write_text(yaml.safe_dump({"rule_files": [str(written)], "tests": [case]}))
    promtool("test", "rules", asked)


@pytest.mark.slow
@pytest.mark.needs("promtool")
def test_a_queue_with_work_and_without_a_worker_alarms(tmp_path):
    """Each web server tells the same. A queue that needs no worker now has no count of workers."""

    def told(name, queue, value):
        return {f'larder_queue_{name}{{queue="{queue}",instance="{web}"}}': value for web in "ab"}

    def check(queues, *changed):
        every = {name: value for each in (*quiet, *changed) for name, value in each.items()}
        check_alert(tmp_path, "LarderQueueWithoutWorker", every, queues)

    broker = {'larder_part_up{part="broker"}': 1}
    quiet = [broker, *(told(*each) for queue in QUEUES for each in (("waiting", queue, 0), ("workers", queue, 1)))]
    check([])
    check([], told("waiting", "check", 3))
    check([], told("workers", "check", 0))
    for queue in QUEUES:
        check([queue], told("waiting", queue, 3), told("workers", queue, 0))
    quiet = [each for each in quiet if each != told("workers", "upstream", 1)]
    check(["upstream"], told("waiting", "upstream", 1))
    broker.update(dict.fromkeys(broker, 0))
    check([], told("waiting", "upstream", 1))  # LarderBrokerDown says why


@pytest.mark.needs("promtool")
def test_promtool_accepts_the_metrics(document):
    promtool("check", "metrics", input=document)

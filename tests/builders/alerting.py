"""The alerts of deploy/prometheus/alerts.yml that fire for a text of /metrics: promtool evaluates the rules.

What was scraped is taken to last for forty minutes. An alert counts with its annotations as Prometheus fills them in.
"""

import math
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.live import CHECKOUT

RULES = CHECKOUT / "deploy" / "prometheus" / "alerts.yml"
SITE = re.compile(r"\{\{ with query .* end \}\}")


def rules() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}


def series_of(documents: dict[str, str]) -> list[dict[str, str]]:
    """The samples of each instance, as they are for each of 40 minutes."""
    found = []
    for instance, document in documents.items():
        found.append({"series": f'up{{job="larder",instance="{instance}"}}', "values": "1x40"})
        for family in text_string_to_metric_families(document):
            for sample in family.samples:
                if sample.name.endswith("_bucket") or not math.isfinite(sample.value):
                    continue
                labels = {**sample.labels, "job": "larder", "instance": instance}
                words = ",".join(f'{name}="{value}"' for name, value in labels.items())
                found.append({"series": f"{sample.name}{{{words}}}", "values": f"{sample.value!r}x40"})
    return found


def check(documents: dict[str, str], firing: set[str], *, url: str, folder: Path) -> None:
    """Fail unless these alerts fire, and no other. Each of them has no labels of its own but the severity."""
    expected = []
    for name, rule in rules().items():
        annotations = {key: SITE.sub(url, text) for key, text in rule["annotations"].items()}
        alerts = [{"exp_labels": rule["labels"], "exp_annotations": annotations}] if name in firing else []
        expected.append({"alertname": name, "eval_time": "40m", "exp_alerts": alerts})
    failure = _evaluate(documents, {"alert_rule_test": expected}, folder)
    assert not failure, failure


def firing(documents: dict[str, str], names: Iterable[str], *, folder: Path) -> set[str]:
    """Return which of these alerts fire, whatever their labels are."""
    query = 'count by (alertname) (ALERTS{{alertname="{}",alertstate="firing"}})'
    none = [{"expr": query.format(name), "eval_time": "40m", "exp_samples": []} for name in names]
    failure = _evaluate(documents, {"promql_expr_test": none}, folder)
    found = set(re.findall(r'got:.*alertname="(\w+)"', failure))
    assert found or not failure, failure
    return found


def _evaluate(documents: dict[str, str], expected: dict[str, list[dict[str, Any]]], folder: Path) -> str:
    """Return what promtool says against it, in one run for all, since each run costs a second."""
    group = {"interval": "1m", "input_series": series_of(documents), **expected}
    written = folder / "alerts-test.yml"
    written.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [group]}))
    done = subprocess.run(["promtool", "test", "rules", written], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr

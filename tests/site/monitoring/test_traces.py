"""Traces: nothing of them without OpenTelemetry's variables, and with them one trace from a request to its worker."""

import json
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.builders.archives import module_zip
from tests.live import start_live
from tests.rows import for_each_row
from tests.site.processes import eventually
from tests.site.startup.test_settings import run_python

OFF = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}
# As where the extra is not installed. Where it is, redis-py imports some of it by itself.
WHAT_IS_THERE = """
import json, sys
sys.modules["opentelemetry"] = None
import registry_site.wsgi
from django.conf import settings
from django.db import connection
from apps.blobs import backends
from apps.lib.process import traces
print(json.dumps({
    "imported": "registry_site.monitoring.tracing" in sys.modules,
    "middleware": settings.MIDDLEWARE[0],
    "tracer": traces.tracer,
    "one_span": traces.span("one") is traces.span("two", more=2),
    "storage": type(backends.current()).__name__,
    "wrappers": len(connection.execute_wrappers),
}))
"""


@pytest.mark.slow
@for_each_row("variables", [{}, OFF], ids=["unset", "disabled"])
def test_whoever_wants_no_traces_pays_nothing(tmp_path, variables):
    done = run_python(WHAT_IS_THERE, LARDER_DATA_DIR=str(tmp_path), **{"OTEL_EXPORTER_OTLP_ENDPOINT": ""} | variables)

    assert json.loads(done.stdout.splitlines()[-1]) == {
        "imported": False,
        "middleware": "django.middleware.security.SecurityMiddleware",
        "tracer": None,
        "one_span": True,
        "storage": "LocalBackend",
        "wrappers": 0,
    }


@pytest.mark.slow
@for_each_row(
    ("variables", "said"),
    [
        ({}, "pip install --require-hashes -r requirements-extras.txt"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL='grpc': expected one of http/protobuf"),
        ({"OTEL_TRACES_SAMPLER": "often"}, "OTEL_TRACES_SAMPLER='often': expected one of parentbased_always_on,"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT begins with 'collector'"),
    ],
)
def test_traces_that_cannot_be_sent_are_refused_at_the_start(tmp_path, variables, said):
    without_packages = "import sys; sys.modules['opentelemetry'] = None; import registry_site.settings"
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"} | variables

    done = run_python(without_packages, LARDER_DATA_DIR=str(tmp_path), **asked)

    assert done.returncode != 0
    assert said in done.stderr


@dataclass
class Collector:
    """The spans that a collector has received which speaks OTLP over HTTP."""

    url: str = ""
    raw: bytes = b""
    services: set[str] = field(default_factory=set)
    spans: list = field(default_factory=list)

    def take(self, path, body):
        assert path == "/v1/traces"
        self.raw += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.services |= {
                one.value.string_value for one in resource.resource.attributes if one.key == "service.name"
            }
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def of(self, trace):
        return [span for span in self.spans if span.trace_id.hex() == trace]

    def below(self, parent):
        """The spans of all that the span did, itself or through others."""
        own = [span for span in self.spans if span.parent_span_id == parent.span_id]
        return own + [deeper for span in own for deeper in self.below(span)]


def named(name, spans):
    found = [span for span in spans if span.name == name]
    assert len(found) == 1, [span.name for span in spans]
    return found[0]


def said_by(span):
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


@contextmanager
def collecting():
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            kept.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.live
@pytest.mark.embedded("it reads the log of all processes as one")
def test_one_trace_leads_from_an_upload_to_its_worker_and_a_lost_collector_holds_nothing_up(tmp_path):
    trace, silent = "5e" * 16, "0f" * 16
    sampled, unsampled = f"00-{trace}-{'ab' * 8}-01", f"00-{silent}-{'ab' * 8}-00"
    stack = ExitStack()
    kept = stack.enter_context(collecting())
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": kept.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    with (
        stack,
        start_live(tmp_path, why="its collector gets lost", OTEL_SERVICE_NAME="our-registry", **variables) as live,
    ):
        token = live.token()
        with live.client(token) as client:
            client.put("/api/v1/namespaces/whisper", json={"visibility": "private"})
            for header, version in ((unsampled, "1.0.0"), (sampled, "1.1.0")):
                path = f"/api/v1/modules/whisper/vpc/aws/{version}"
                answer = client.put(path, content=module_zip(comment=version.encode()), headers={"traceparent": header})
                live.wait_for(client, f"/api/v1/releases/{answer.json()['id']}")
        both = {"publish-module", "PUT api:module-release"}
        eventually(lambda: both <= {span.name for span in kept.of(trace)}, what="the trace")
        stack.close()
        released = live.publish("whisper/vpc/aws", "1.2.0", module_zip(), token)
    lines = live.output.read_text()
    assert released["state"] == "published"
    assert live.process.returncode == 0
    assert "Traceback" not in lines

    request, task = (named(name, kept.of(trace)) for name in ("PUT api:module-release", "publish-module"))
    assert request.parent_span_id.hex() == "ab" * 8
    assert task.parent_span_id == request.span_id
    said = said_by(request)
    assert said["http.response.status_code"] == 202
    assert said["http.route"].startswith("/api/v1/modules/<")
    assert said["larder.request_id"] == said_by(task)["larder.request_id"]
    assert f'"trace_id": "{trace}"' in next(line for line in lines.splitlines() if said["larder.request_id"] in line)
    assert said_by(task)["larder.outcome"] == "done"

    in_request, in_task = kept.below(request), kept.below(task)
    assert "storage write" in {span.name for span in in_request}
    assert "storage commit" in {span.name for span in kept.below(named("step store_archive", in_task))}
    for part in (in_request, in_task):
        assert any(said_by(span).get("db.query.text", "").startswith(("INSERT", "UPDATE")) for span in part)

    assert kept.of(silent) == []
    assert kept.services == {"our-registry"}
    for hidden in (token, "whisper", "vpc", "1.1.0"):
        assert hidden.encode() not in kept.raw

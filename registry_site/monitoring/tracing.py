"""Traces for OpenTelemetry: spans of requests, queries, storage, steps and tasks, sent over OTLP/HTTP.

Only `settings.TRACES` leads here: without it none of the packages is imported. A span says routes, numbers of rows and
statements without their values. Addresses, keys and the texts of errors are not in it: they may hold secrets, or the
names of what people own.
"""

import socket
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from multiprocessing.util import Finalize
from threading import Event, Thread
from typing import Any

import structlog
from celery import Task, signals, states
from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract as trace_of
from opentelemetry.propagate import inject
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, format_trace_id, get_current_span, use_span

from apps.lib.process import traces
from registry_site.server.middleware import ACCESS_FIELDS, METHODS, Respond

# The longest that an ending process waits for a collector that does not answer.
LAST_SECONDS = 2.0
STATEMENT_LENGTH = 2000
_SPAN = "larder.span"


class Tracing:
    """The tracer of this process: for `apps.lib.process.traces`, for the middleware, and for Celery's signals."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("larder", settings.VERSION)

    @contextmanager
    def span(
        self, name: str, attributes: dict[str, traces.Value], kind: SpanKind = SpanKind.INTERNAL
    ) -> Iterator[None]:
        """Only within a request or task that is sampled: what a process does by itself would be a trace a second."""
        if not get_current_span().is_recording():
            yield
            return
        with self._tracer.start_as_current_span(
            name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as error:
                _fail(span, type(error).__name__)
                raise

    def note(self, attributes: dict[str, traces.Value]) -> None:
        get_current_span().set_attributes(attributes)

    def query(self, execute: Callable[..., Any], sql: Any, parameters: Any, many: bool, context: Any) -> Any:  # noqa: FBT001  # Django's signature
        """Of psycopg's composed statements only the kind is said."""
        text = sql if isinstance(sql, str) else ""
        operation = text.lstrip("( ").partition(" ")[0].upper() or "QUERY"
        attributes: dict[str, traces.Value] = {
            "db.system.name": connection.vendor,
            "db.operation.name": operation,
            "db.query.text": text[:STATEMENT_LENGTH],
        }
        with self.span(operation, attributes, SpanKind.CLIENT):
            return execute(sql, parameters, many, context)

    def begin_span(self, name: str, kind: SpanKind, carrier: Any) -> Span:
        """Begin a span that continues the trace of the sender of the headers in `carrier`."""
        return self._tracer.start_span(name, context=trace_of(carrier), kind=kind)

    @contextmanager
    def within(self, span: Span) -> Iterator[None]:
        """Queries, parts and log lines of this thread belong to the span."""
        with ExitStack() as stack:
            stack.enter_context(
                use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False)
            )
            if span.is_recording():
                trace_id = format_trace_id(span.get_span_context().trace_id)
                stack.enter_context(structlog.contextvars.bound_contextvars(trace_id=trace_id))
                stack.enter_context(connection.execute_wrapper(self.query))
            yield

    # --- Celery's signals ---------------------------------------------------------------------------------------------

    def send(self, headers: MutableMapping[str, Any], **_: Any) -> None:
        inject(headers)

    def begin_task(self, task: "Task[..., Any]", **_: Any) -> None:
        stack = ExitStack()
        # Celery keeps the headers of a message among the attributes of its request.
        span = self.begin_span(task.name, SpanKind.CONSUMER, vars(task.request))
        span.set_attributes({"messaging.system": "celery", "messaging.message.id": task.request.id or ""})
        stack.callback(span.end)
        stack.enter_context(self.within(span))
        setattr(task.request, _SPAN, stack)

    def end_task(self, task: "Task[..., Any]", state: str | None = None, **_: Any) -> None:
        stack = vars(task.request).pop(_SPAN, None)
        if stack is not None:
            if state == states.FAILURE:
                _fail(get_current_span(), state)
            stack.close()


class RequestSpans:
    """The outermost middleware: the span of a request ends with the head of its answer."""

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        tracing = traces.tracer
        if not isinstance(tracing, Tracing):
            return self.get_response(request)
        method = request.method if request.method in METHODS else "other"
        # A request that waits comes by several times, and is one request.
        span = request.META.get(_SPAN)
        if span is None:
            span = request.META[_SPAN] = tracing.begin_span(str(method), SpanKind.SERVER, request.headers)
        with tracing.within(span):
            response = self.get_response(request)
        if (fields := request.META.get(ACCESS_FIELDS)) is not None:
            span.update_name(f"{method} {fields['route']}")
            found = {
                "http.request.method": str(method),
                "http.response.status_code": response.status_code,
                "http.route": f"/{request.resolver_match.route}" if request.resolver_match else None,
                "larder.route": fields["route"],
                "larder.person": fields["person"],
                "larder.release": fields["release"],
                "larder.request_id": request.META.get("larder.request_id"),
            }
            span.set_attributes({name: value for name, value in found.items() if value is not None})
            if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                _fail(span, str(response.status_code))
            span.end()
        return response


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def start() -> None:
    """Trace from now on. Web processes and workers call it, commands and tests do not; the SDK survives a fork."""
    if traces.tracer is not None:
        return
    own = {"service.name": "larder", "service.version": settings.VERSION, "host.name": socket.gethostname()}
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last.
    provider = TracerProvider(
        resource=Resource.create().merge(Resource(own)).merge(OTELResourceDetector().detect()), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracing = traces.tracer = Tracing(provider)
    signals.before_task_publish.connect(tracing.send, weak=False)
    signals.task_prerun.connect(tracing.begin_task, weak=False)
    signals.task_postrun.connect(tracing.end_task, weak=False)

    # The rest is sent at the end, in a thread that is there already: an ending process starts none, and the SDK may
    # wait for half a minute.
    is_ending = Event()

    def wait_and_send() -> None:
        is_ending.wait()
        provider.shutdown()

    thread = Thread(target=wait_and_send, name="last-traces", daemon=True)
    thread.start()

    def end() -> None:
        is_ending.set()
        thread.join(LAST_SECONDS)

    Finalize(None, end, exitpriority=10)

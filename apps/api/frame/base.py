"""The base views. A view declares with `operation` what each method takes and answers; they follow it, and
`make schema` turns it into static/api/openapi.json.

Lists come in pages: `{"<what>": […], "next": "/api/v1/…?cursor=…"}`; `next` is null on the last page. A cursor belongs
to its list and query; clients follow `next` and read nothing into it.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import DateTimeField, Q, QuerySet
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ListSerializer, Serializer

from apps.accounts.access import throttling
from apps.accounts.identity.sign_ins import address_of
from apps.api.frame.bodies import read_json, validated
from apps.http.errors import Failure, api_dialect
from apps.http.views import MachineView, NothingHere
from apps.lib.errors import CredentialsRequired, Invalid

# Paths.
MODULE = "modules/<segment:namespace>/<segment:name>/<segment:system>"
PROVIDER = "providers/<segment:namespace>/<segment:type>"


Method = TypeVar("Method", bound=Callable[..., Any])
Body = type[Serializer[Any]]
Shape = Body | tuple[Body, ...]  # one of several
REPEATABLE = ("put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Operation:
    """`takes` is a JSON body, or the media type of a raw one. `answers` has a shape, or None for no body, by status.

    `query` and `headers` describe the parameters, `errors` the ones beside the usual. `limits` are the rates that it
    counts against: without one it is never answered 429, unless `errors` says so. `choices` has the values of
    parameters with few. `files` are the media types in which 200 comes as a file too. `scope` is the least that a token
    needs, None where no token is read; `public` calls are answered without one as well. After a lost answer an
    `idempotent` call can be sent again: the outcome and the answer are the same, or 200 for 201 and 202, or 404 for
    what a DELETE removed. `again` says what happens then.
    """

    summary: str
    takes: Body | str | None = None
    answers: Mapping[int, Shape | None] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    limits: Collection[str] = ()
    again: str = ""
    scope: str | None = "read"
    public: bool = False
    idempotent: bool = False
    choices: Mapping[str, Collection[str]] = field(default_factory=dict)
    files: Collection[str] = ()


def operation(summary: str, **described: Any) -> Callable[[Method], Method]:
    """The decorator of a method of a view: the fields of `Operation`.

    What writes needs the scope `manage` and, unless it is a POST, can be sent again: others say so.
    """

    def declared(method: Method) -> Method:
        usual = {"scope": "read" if method.__name__ == "get" else "manage", "idempotent": method.__name__ in REPEATABLE}
        method.operation = Operation(summary, **usual | described)  # type: ignore[attr-defined]  # for operation_of
        return method

    return declared


PAGE_SIZE = 100
# Clients wait for longer, and proxies.
SLOT_SECONDS = 30.0
# Of what can break somebody. It answers `shapes.Consequences`.
DRY_RUN = {"dry_run": "1: return who would be affected, and change nothing. The body is ignored."}
CURSOR = {"cursor": "The value from `next` of the previous page."}
# A page costs as much as all rows before it, unless the list begins with the newest.
_LAST_OFFSET = 100_000
_AFTER = re.compile(r"([0-9]{1,17})-([0-9]{1,18})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def page_of(request: Request, rows: QuerySet[Any] | Sequence[Any]) -> tuple[list[Any], str | None]:
    """A page of rows in a total order, and `next`; one row more is read to learn whether there is one.

    A list that begins with the newest continues after the time and number of its last row, any other one by counting.
    """
    text = request.query_params.get("cursor", "")
    time = _time_of(rows)
    if time and isinstance(rows, QuerySet):
        found = list(_after(rows, time, text)[: PAGE_SIZE + 1])
        last = found[PAGE_SIZE - 1] if len(found) > PAGE_SIZE else None
        end = f"{(getattr(last, time) - _EPOCH) // timedelta(microseconds=1)}-{last.pk}" if last else ""
    else:
        start = _offset(text)
        found = list(rows[start : start + PAGE_SIZE + 1])
        end = str(start + PAGE_SIZE)
    return found[:PAGE_SIZE], next_page(request, end) if len(found) > PAGE_SIZE else None


def _time_of(rows: QuerySet[Any] | Sequence[Any]) -> str:
    """Return the column of a list that is ordered by a time and then by number, both descending; "" for any other."""
    order = rows.query.order_by if isinstance(rows, QuerySet) else ()
    if len(order) != 2 or order[1] != "-pk" or not isinstance(order[0], str):  # noqa: PLR2004  # a time and a number
        return ""
    name = order[0].removeprefix("-")
    columns = {column.name: column for column in rows.model._meta.concrete_fields}  # type: ignore[union-attr]  # noqa: SLF001
    is_time = isinstance(columns.get(name), DateTimeField) and not columns[name].null
    return name if is_time and name != order[0] else ""


def _after(rows: QuerySet[Any], time: str, text: str) -> QuerySet[Any]:
    if not text:
        return rows
    if (last := _AFTER.fullmatch(text)) is None:
        raise _foreign(text)
    at = _EPOCH + timedelta(microseconds=int(last[1]))
    # The last condition is what an index serves.
    return rows.filter(Q(**{f"{time}__lt": at}) | Q(pk__lt=int(last[2])), **{f"{time}__lte": at})


def _offset(text: str) -> int:
    if text and not (text.isascii() and text.isdecimal()):
        raise _foreign(text)
    if len(text) > len(str(_LAST_OFFSET)) or int(text or 0) > _LAST_OFFSET:
        raise Invalid(f"The list is read up to row {_LAST_OFFSET:,}.", hint="Ask for less: use the list's parameters.")
    return int(text or 0)


def _foreign(text: str) -> Invalid:
    return Invalid(f"The cursor {text[:40]!a} does not belong to this list.", hint="Follow `next` of the page before.")


def next_page(request: Request, cursor: str) -> str:
    query = request.query_params.copy()
    query["cursor"] = cursor
    return f"{request.path}?{query.urlencode()}"


def text_of(request: Request, name: str) -> str:
    """A parameter without NUL, which PostgreSQL refuses."""
    return str(request.query_params.get(name, "")).replace("\0", "").strip()[:200]


def _refuse_unknown(request: Request, known: Collection[str]) -> None:
    """A parameter that nothing reads: a filter that does not filter, or a dry run that publishes. Raises Invalid."""
    for name in request.query_params:
        if name not in known:
            nearest = next(iter(get_close_matches(name, known, 1)), "")
            listed = f"Parameters are: {', '.join(known)}." if known else "This call takes none."
            hint = f"Did you mean {nearest}?" if nearest else listed
            raise Invalid(f"There is no query parameter {name[:40]!a}.", hint=hint)


class ApiView(MachineView):
    """One route. It has the methods that it declares."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    dialect = api_dialect

    def operation_of(self, method: str) -> Operation | None:
        """Tell what the endpoint takes and answers; None for a method that it does not have."""
        found: Operation | None = getattr(getattr(self, method.lower(), None), "operation", None)
        return found

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        declared = self.operation_of(request.method or "")
        if declared is not None and not declared.public:
            self.require_token()
        if declared is not None:
            _refuse_unknown(request, declared.query)

    def require_token(self) -> None:
        """The same 401 for every address, before anything else is checked."""
        if not self.viewer.is_identified:
            raise CredentialsRequired("This needs an API token.")

    def count(self, group: str) -> None:
        """Count against one of the operation's limits: by account, else by address. Raises TooManyAttempts.

        A request that has waited was counted before.
        """
        assert group in self._declared.limits, f"declare limits=[{group!r}]"  # noqa: S101  # the schema says 429 by it
        if self.resumed is not None:
            return
        throttling.count(throttling.by_account(group, self.viewer.user_id, address_of(self.request)))

    def text(self, name: str) -> str:
        """A parameter of the query, or ""."""
        return text_of(self.request, name)

    def is_dry_run(self) -> bool:
        """The parameter `dry_run`. Raises Invalid: a typing error must not act."""
        dry = self.request.query_params.get("dry_run", "0")
        if dry not in ("0", "1"):
            raise Invalid(f"found dry_run={dry[:40]!a}, expected 1 or 0", hint="Nothing was read. Send dry_run=1.")
        return dry == "1"

    @property
    def takes(self) -> Body:
        """The JSON that the operation takes."""
        found = self._declared.takes
        assert isinstance(found, type)  # noqa: S101  # whoever asks takes no raw body
        return found

    def body(self) -> dict[str, Any]:
        """The validated JSON. Raises Unreadable, TooLarge and Invalid."""
        return validated(self.takes, read_json(self.request))

    def answer(
        self,
        row: Any = None,
        status: int = HTTPStatus.OK,
        *,
        headers: Mapping[str, str] | None = None,
        shape: Body | None = None,
    ) -> Response:
        """A row in the shape that the operation answers with this status; `shape` chooses one of several."""
        shape = shape or self._declared.answers[status]  # type: ignore[assignment]  # not a tuple
        document = shape(context={"viewer": self.viewer}).to_representation(row) if shape else None
        return Response(document, status=status, headers=dict(headers or {}))

    def page(self, rows: QuerySet[Any] | Sequence[Any], **more: Any) -> Response:
        """A page of the rows."""
        shape: Any = self._declared.answers[HTTPStatus.OK]
        what = next(name for name, field in shape().fields.items() if isinstance(field, ListSerializer))
        found, following = page_of(self.request, rows)
        return self.answer({what: found, "next": following, **more})

    @property
    def _declared(self) -> Operation:
        found = self.operation_of(self.request.method or "")
        assert found is not None  # noqa: S101  # its method asks
        return found

    def failure_of(self, error: Exception) -> Failure:
        failure = super().failure_of(error)
        if failure.code == "unauthenticated":
            page = f"{settings.PUBLIC_URL}{reverse('portal:tokens')}"
            hint = f"Create an API token at {page} and send it as `Authorization: Bearer <token>`."
            return replace(failure, hint=hint)
        if failure.code == "invalid":
            return replace(failure, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        return failure


class ListView(ApiView):
    """`get = listed(…)`, and `rows` with the names of the path: those that the caller may see, in a total order."""

    rows: Callable[..., QuerySet[Any] | Sequence[Any]]


class DetailView(ApiView):
    """`get = shown(…)`, and `row` with the names of the path: what the gate lets the caller see."""

    row: Callable[..., Any]


def listed(
    summary: str, shape: Body, *, query: Mapping[str, str] | None = None, **more: Any
) -> Callable[..., Response]:
    """GET of a ListView: pages of its rows, or what else `operation` says."""

    @operation(summary, answers={HTTPStatus.OK: shape}, query={**(query or {}), **CURSOR}, **more)
    def get(self: ListView, request: Request, **names: Any) -> Response:  # noqa: ARG001
        return self.page(self.rows(**names))

    return get


def shown(summary: str, shape: Body, **more: Any) -> Callable[..., Response]:
    """GET of a DetailView."""

    @operation(summary, answers={HTTPStatus.OK: shape}, **more)
    def get(self: DetailView, request: Request, **names: Any) -> Response:  # noqa: ARG001
        return self.answer(self.row(**names))

    return get


class Unknown(NothingHere):
    dialect = api_dialect

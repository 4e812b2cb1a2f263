"""The base views. A view declares with `operation` what each method takes and answers; they follow it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ListSerializer

from apps.accounts.access import throttling
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import Body, Operation, operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.http.errors import Failure, api_dialect
from apps.http.views import MachineView, NothingHere
from apps.lib.errors import CredentialsRequired

# Paths.
MODULE = "modules/<segment:namespace>/<segment:name>/<segment:system>"
PROVIDER = "providers/<segment:namespace>/<segment:type>"


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

    def require_token(self) -> None:
        """The same 401 for every address, before anything else is checked."""
        if not self.viewer.is_identified:
            raise CredentialsRequired("This needs an API token.")

    def count_upload(self) -> None:
        """Raises TooManyAttempts."""
        throttling.count(throttling.by_account("publish", self.viewer.user_id, ""))

    def text(self, name: str) -> str:
        """A parameter of the query, or ""."""
        return text_of(self.request, name)

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
            hint = f"Make an API token at {page} and send it as `Authorization: Bearer <token>`."
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

"""Hostile requests for every route: reproducible from a seed, and well-meant enough to get past the first check.

A request begins as the policy's own (tests/house/scenario.py) and is then damaged in one to three places. Names of
fields, parameters and filters are read from the code, so that a new form or endpoint is attacked from its first day.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from django import forms
from django.apps import apps
from django.contrib import admin
from django.urls import reverse
from rest_framework.serializers import Serializer

from tests.house import scenario, sources
from tests.house.fuzzing.hostile import BODIES, HEADERS, RAW, TEXTS, VALUES, WORST

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROWS = ("private", "internal", "public", "missing")
FORM = "application/x-www-form-urlencoded"


@dataclass
class Attack:
    """One request. `who` is a column of the policy; the rest is what a WSGI environ carries."""

    name: str
    who: str
    method: str
    path: str
    values: list[str] = field(default_factory=list)  # what stands in the path for the route's arguments
    query: str = ""
    body: bytes = b""
    content_type: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@cache
def field_names() -> list[str]:
    """Of every serializer and every form."""
    names: set[str] = {
        "action",
        "_selected_action",
        "apply",
        "confirm",
        "csrfmiddlewaretoken",
        "select_across",
        "index",
    }
    for kind in (*_all_below(Serializer), *_all_below(forms.BaseForm)):
        if kind.__module__.startswith("apps."):  # the admin makes more of them as it goes
            names |= set(getattr(kind, "_declared_fields", getattr(kind, "base_fields", {})))
    return sorted(names)


@cache
def parameter_names() -> list[str]:
    """Of every query string that some view reads, and of every filter of the admin."""
    names = {"p", "o", "q", "e", "all", "_popup", "_to_field", "_changelist_filters", "_facets", "term", "field_name"}
    names |= {"app_label", "model_name", "id__exact", "pk__in", "x__y", "next"}
    for path in sources.python_files("apps", "registry_site"):
        names |= set(re.findall(r"""GET(?:\.get(?:list)?\(|\[)["']([\w-]+)["']""", sources.text_of(path)))
    for model_admin in admin.site._registry.values():
        if model_admin.date_hierarchy:
            names |= {f"{model_admin.date_hierarchy}__{part}" for part in ("year", "month", "day", "gte")}
        for wanted in model_admin.list_filter:
            if isinstance(wanted, str):
                names |= {f"{wanted}__exact", f"{wanted}__isnull", f"{wanted}__gte", wanted}
            else:
                names.add(getattr(wanted, "parameter_name", "x"))
    return sorted(names)


def _all_below(kind: type) -> set[type]:
    found: set[type] = set(kind.__subclasses__())
    return found.union(*(_all_below(one) for one in found))


class Fuzzer:
    """Makes attacks on the routes of a scene, in a fixed order for a seed."""

    def __init__(self, scene: Any, seed: int) -> None:
        self.scene = scene
        self.random = random.Random(seed)

    def attack(self, route: Any, who: str, methods: Sequence[str]) -> Attack:
        """`methods` are those that the route takes; some attacks use another."""
        method = self.random.choice(methods if self.random.random() < 0.9 else METHODS)
        if route.is_admin:
            made = self._on_the_admin(route, who, method)
        elif route.name is None:
            made = Attack(
                route.pattern, who, method, self.random.choice(["/v1/x", "/archives/", "/v2/x/y", "/api/v1/x"])
            )
        else:
            row = "missing" if route.is_library else self.random.choice(ROWS)  # no place has arguments of allauth's
            made = self.well_meant(route, who, method, row)
        for _ in range(self.random.randint(1, 3)):
            self.random.choice(self._damages)(made)
        return made

    def well_meant(self, route: Any, who: str, method: str, row: str) -> Attack:
        path, _, query = scenario.version_for(route.name, method, self.scene.url(route, row)).partition("?")
        values = self.scene.values(route, row)
        made = Attack(route.name, who, method, path, [str(value) for value in values.values()], query)
        told = scenario.body_of(route.name, method, row)
        data = told.get("data", b"")
        if isinstance(data, dict):
            made.body, made.content_type = urlencode(data, doseq=True).encode(), FORM
        else:
            made.body = data.encode() if isinstance(data, str) else data
            made.content_type = told.get("content_type", "")
        made.headers = {f"HTTP_{name.upper()}": value for name, value in told.get("headers", {}).items()}
        return made

    def _on_the_admin(self, route: Any, who: str, method: str) -> Attack:
        keys = {"object_id": "1", "app_label": "jobs", "content_type_id": "1", "id": "1", "url": "x"}
        model = next((one for one in admin.site._registry if _belongs(route.name or "", one)), None)
        row = model._default_manager.order_by("pk").first() if model else None
        if row is not None:
            keys["object_id"] = str(row.pk)
        if route.name is None:
            path = "/admin/x"
        else:
            path = reverse(route.name, kwargs={name: keys.get(name, "1") for name in route.arguments})
        values = [keys.get(name, "1") for name in route.arguments]
        made = Attack(route.name or route.pattern, who, method, path, values)
        if model and (acts := getattr(admin.site._registry[model], "acts", None)):
            data = {"action": self.random.choice(list(acts)), "_selected_action": keys["object_id"], "apply": "1"}
            made.body, made.content_type = urlencode(data).encode(), FORM
        if model and made.path.endswith("/add/"):
            made.query = f"{self.random.choice(model._meta.get_fields()).name}={self._escaped()}"
        if "autocomplete" in made.path:
            target = self.random.choice([("accounts", "grant", "namespace"), ("accounts", "membership", "user")])
            made.query = urlencode(dict(zip(("app_label", "model_name", "field_name"), target, strict=True)))
        return made

    def each_field(self, route: Any, who: str, method: str) -> Iterator[Attack]:
        """Each field of what the policy sends, with each of the worst values."""
        if not scenario.body_of(route.name, method, "private"):
            return
        made = self.well_meant(route, who, method, "private")
        if made.content_type == FORM:
            pairs = parse_qsl(made.body.decode(), keep_blank_values=True)
            for place, worst in product(range(len(pairs)), WORST):
                changed = [*pairs[:place], (pairs[place][0], worst), *pairs[place + 1 :]]
                body = "&".join(f"{name}={quoted(value)}" for name, value in changed).encode()
                yield replace(made, body=body)
        elif made.content_type == "application/json":
            sent = json.loads(made.body)
            for name, value in product(sent, [*WORST, *VALUES]):
                yield replace(made, body=json.dumps(sent | {name: value}).encode())

    # --- Damage -------------------------------------------------------------------------------------------------------

    @property
    def _damages(self) -> list[Any]:
        return [self._segment, self._parameter, self._parameter, self._body, self._field, self._field, self._header]

    def _text(self) -> str:
        return self.random.choice(TEXTS)

    def _escaped(self) -> str:
        return self.random.choice(RAW) if self.random.random() < 0.3 else quoted(self._text())

    def _segment(self, made: Attack) -> None:
        if made.values and self.random.random() < 0.8:
            made.path = made.path.replace(self.random.choice(made.values), self._escaped())
            return
        parts = made.path.split("/")
        place = self.random.randrange(1, len(parts)) if len(parts) > 1 else 0
        if self.random.random() < 0.3:
            parts[place] += self._escaped()
        else:
            parts[place] = self._escaped()
        made.path = "/".join(parts)

    def _parameter(self, made: Attack) -> None:
        if self.random.random() < 0.1:
            made.query = self.random.choice([*RAW, "&" * 2000, "a=b&" * 2000, "=", "x" * 9000])
            return
        name = self.random.choice(parameter_names()) if self.random.random() < 0.9 else self._escaped()
        made.query = "&".join(filter(None, [made.query, f"{name}={self._escaped()}"]))

    def _body(self, made: Attack) -> None:
        made.body = self.random.choice(BODIES)
        if made.body.startswith(b"--cut"):
            made.content_type = "multipart/form-data; boundary=cut"

    def _field(self, made: Attack) -> None:
        """One field of the form or JSON that is sent, or some field of anybody's."""
        if made.content_type == FORM or (not made.content_type and not made.name.startswith(("api:", "oci:"))):
            pairs = [pair.partition("=")[::2] for pair in made.body.decode("latin-1").split("&") if pair]
            name = self.random.choice([key for key, _ in pairs] + self.random.sample(field_names(), 3))
            pairs = [(key, value) for key, value in pairs if key != name] + [(name, self._escaped())]
            made.body, made.content_type = "&".join("=".join(pair) for pair in pairs).encode(), FORM
            return
        try:
            sent = json.loads(made.body)
        except (ValueError, RecursionError):
            sent = {}
        if not isinstance(sent, dict):
            sent = {}
        name = self.random.choice([*sent, *sent, self.random.choice(field_names())])
        sent[name] = self._text() if self.random.random() < 0.7 else self.random.choice(VALUES)
        made.body = json.dumps(sent).encode()

    def _header(self, made: Attack) -> None:
        name = self.random.choice(list(HEADERS))
        value = self.random.choice(HEADERS[name])
        if name == "CONTENT_TYPE":
            made.content_type = value
        else:
            made.headers[name] = value


def quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _belongs(name: str, model: type) -> bool:
    meta: Any = apps.get_model(model._meta.label)._meta  # type: ignore[attr-defined]  # every model has one
    return name.startswith(f"admin:{meta.app_label}_{meta.model_name}_")

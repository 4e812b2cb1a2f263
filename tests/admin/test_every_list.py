"""Rules for every list of the admin, with many rows of modules, providers and OCI pushes."""

import pytest
from django.contrib import admin
from django.contrib.admin.templatetags import admin_list
from django.contrib.auth.models import Permission
from django.forms.models import model_to_dict
from django.urls import reverse

from apps.accounts.models import Grant, Invitation, Namespace, Team, User
from apps.admin_base.cells import rows_of
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.modules.models import ModuleVersion
from tests import pages, rooms
from tests.admin import rows
from tests.admin.lists import chosen, first, list_of, name_of, page_of
from tests.admin.releases import oci_rows, provider_rows
from tests.admin.test_export import export
from tests.cast import person
from tests.rows import for_each_row

SHELVES = (rows, provider_rows, oci_rows, *rooms.modules("admin_rows"))
EDITED = (Namespace, Team, Grant, User, Invitation)
LISTED = [(shelf, model) for shelf in SHELVES for model in shelf.LISTED]
# What a person types or a scanner sends: each is asked of every list, with and without a search box.
WORDS = {
    "word": "acme",
    "emoji": "\N{FROG FACE} acme/vpc/aws 1.0.0",
    "nul": "ac\0me sha256:ab % _ \\ ' \" / // : --",
    "long": "x" * 500,
    "number": "9" * 500,
    "words": " ".join(f"w{n}" for n in range(150)),
}
READ_ONLY = [(shelf, model) for shelf, model in LISTED if model not in EDITED]

each_shelf = pytest.mark.parametrize("shelf", SHELVES, ids=lambda shelf: shelf.__name__.rpartition(".")[2])


def acts_of(model):
    return getattr(admin.site.get_model_admin(model), "acts", {})


def permission(name):
    app, _, code = name.partition(".")
    return Permission.objects.get(content_type__app_label=app, codename=code)


def named(value):
    return value.__name__ if isinstance(value, type) else ""


@pytest.mark.slow
@each_shelf
def test_a_list_and_a_page_of_one_row_cost_the_same_beside_many(operator_client, shelf):
    """And a page with many of what hangs on it: the newest twenty are shown."""
    shelf.make(0, 5)
    addresses = [(list_of(model), page_of(first(model))) for model in shelf.LISTED]
    paths = [reverse("admin:index"), *(path for both in addresses for path in both)]
    for path in paths:
        operator_client.get(path)  # Django remembers the content type of each model
    few = {path: pages.queries_of(operator_client, path) for path in paths[1:]}
    shelf.make(5, 60)
    if ModuleVersion in shelf.LISTED:
        rows.more_versions(first(ModuleVersion).module, 60)

    assert {path: pages.queries_of(operator_client, path) for path in few} == few
    assert max(few.values()) <= 12


@each_shelf
def test_the_rows_of_a_list_are_those_that_django_would_write(operator_client, shelf):
    shelf.make(0, 3)
    for model in shelf.LISTED:
        for path in (list_of(model), f"{list_of(model)}?_popup=1"):
            listed = operator_client.get(path).context["cl"]
            ours = rows_of(listed, ["<td"] * len(listed.list_display))
            assert ours == "".join(f"<tr>{''.join(cells)}</tr>" for cells in admin_list.results(listed))
            assert ours.count("<tr>") >= 1


@pytest.mark.slow
@for_each_row(("shelf", "model"), READ_ONLY, ids=named)
def test_nothing_that_is_posted_changes_anything(operator_client, shelf, model):
    shelf.make(0, 1)
    row = first(model)
    before, events = model_to_dict(row), AuditEvent.objects.count()
    page = operator_client.get(page_of(row))
    # The admin takes `action` for one of its buttons, whatever the model calls so.
    posted = {field.name: "0" * 64 for field in model._meta.fields if field.editable and field.name != "action"}

    assert page.context["adminform"].form.fields == {}
    assert 'name="_save"' not in page.text
    assert operator_client.post(page_of(row), posted).status_code == 403
    assert operator_client.post(reverse(f"{name_of(model)}_add"), posted).status_code == 403
    assert operator_client.post(reverse(f"{name_of(model)}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert model_to_dict(first(model)) == before
    assert AuditEvent.objects.count() == events


@pytest.mark.slow
@for_each_row(("shelf", "model"), [pair for pair in LISTED if acts_of(pair[1])], ids=named)
def test_each_act_needs_its_own_permission(db, browser_of, shelf, model):
    """A person who may only look is offered no act of the list and of a row's page, and sending one does nothing."""
    shelf.make(0, 1)
    row = first(model)
    looks = permission(f"{model._meta.app_label}.view_{model._meta.model_name}")
    sam = person("sam", is_staff=True)
    sam.user_permissions.add(looks)
    browser = browser_of(sam)
    before, events, jobs = model_to_dict(row), AuditEvent.objects.count(), Job.objects.count()

    def offered():
        listed, page = (browser.get(path) for path in (list_of(model), page_of(row)))
        choices = [name for name, _ in listed.context["action_form"].fields["action"].choices]
        return choices[2:], [name for name, _ in page.context["page_actions"]]

    assert offered() == ([], [])
    for act in acts_of(model):
        form = chosen(act, row) | {"apply": "1", "reason": "It leaked."}
        assert browser.post(list_of(model), form).headers.get("Location") in (None, list_of(model))
        browser.post(page_of(row), form)
    assert model_to_dict(first(model)) == before
    assert (AuditEvent.objects.count(), Job.objects.count()) == (events, jobs)

    for needed in {act.permission for act in acts_of(model).values()}:
        sam.user_permissions.set([looks, permission(needed)])
        its = [name for name, act in acts_of(model).items() if act.permission == needed]
        assert offered()[0] == its
        assert set(offered()[1]) <= set(its)


@pytest.mark.both
@for_each_row(("shelf", "model"), LISTED, ids=named)
def test_every_list_offers_its_rows(operator_client, shelf, model):
    shelf.make(0, 3)
    (head, *lines), _ = export(operator_client, model, first(model), everything=True)

    assert len(lines) == model.objects.count() > 0
    assert {len(line) for line in lines} == {len(head)}


@pytest.mark.slow
@pytest.mark.both
@for_each_row("words", WORDS.values(), ids=WORDS)
def test_every_list_answers_whatever_is_searched_for(operator_client, words):
    answers = {
        model.__name__: operator_client.get(list_of(model, q=words)).status_code for model in admin.site._registry
    }

    assert set(answers) >= {model.__name__ for _, model in LISTED}
    assert set(answers.values()) == {200}

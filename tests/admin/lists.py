"""Addresses of the admin's lists and pages."""

from django.urls import reverse


def name_of(model):
    return f"admin:{model._meta.app_label}_{model._meta.model_name}"


def list_of(model, **query):
    return reverse(f"{name_of(model)}_changelist", query=query)


def chosen(action, *rows):
    """Return the form that a list sends for an action on these rows."""
    return {"action": action, "index": "0", "_selected_action": [row.pk for row in rows]}


def ask(client, action, *rows, **more):
    return client.post(list_of(rows[0]), chosen(action, *rows) | more)


def run(client, action, *rows, **more):
    return client.post(list_of(rows[0]), chosen(action, *rows) | more, follow=True)


def page_of(row):
    return reverse(f"{name_of(row)}_change", args=[row.pk])


def first(model):
    return model.objects.order_by("pk").first()

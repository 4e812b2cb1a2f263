"""Addresses of the admin's lists and pages."""

from django.urls import reverse


def name_of(model):
    return f"admin:{model._meta.app_label}_{model._meta.model_name}"


def list_of(model, **query):
    return reverse(f"{name_of(model)}_changelist", query=query)


def page_of(row):
    return reverse(f"{name_of(row)}_change", args=[row.pk])


def first(model):
    return model.objects.order_by("pk").first()

"""Rows that models.py has no room for."""

from django.conf import settings
from django.db import models


class LoginCode(models.Model):
    """A code of `tofu login`. `identity.cli_login` has the verbs."""

    digest = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.CharField(max_length=40, help_text="The digest of the session in which it was allowed.")
    redirect_uri = models.CharField(max_length=100)
    challenge = models.CharField(max_length=43)
    machine = models.CharField(max_length=40, help_text="What the person calls the computer.")
    browser = models.CharField(max_length=64, help_text="The digest of a cookie.")
    address = models.CharField(max_length=45, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)
    token = models.ForeignKey("accounts.ApiToken", models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return f"login {self.pk}"


class DeletedTeam(models.Model):
    """The name of a deleted team, which stays taken: audit rows and the names of its service accounts refer to it."""

    name = models.CharField(max_length=63, unique=True)
    deleted_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

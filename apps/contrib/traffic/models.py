from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Team


class AccountTraffic(models.Model):
    """The downloads of one day (UTC) by an account with one of its tokens, or by everyone without credentials.

    It does not say of what: `releases.Fetch` names the releases of a person, and has no days.
    """

    day = models.DateField()
    # Not hidden: the rows go with a person who is erased.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        related_name="account_traffic",
        help_text="Empty: without a token.",
    )
    token = models.BigIntegerField(default=0, help_text="Number of the API token. 0: not known, or one of many.")
    downloads = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["day", "account", "token"], condition=Q(account__isnull=False), name="traffic_account_once"
            ),
            models.UniqueConstraint(fields=["day"], condition=Q(account=None), name="traffic_nobody_once"),
        ]
        indexes = [models.Index(fields=["day"], name="traffic_accounts_by_day")]

    def __str__(self) -> str:
        return f"{self.day} {self.account or 'without a token'}: {self.downloads}"


class TeamTraffic(models.Model):
    """The downloads of one day (UTC) by those who were in a team then. A person in two teams counts for both."""

    day = models.DateField()
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    downloads = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["day", "team"], name="traffic_team_once")]

    def __str__(self) -> str:
        return f"{self.day} {self.team}: {self.downloads}"

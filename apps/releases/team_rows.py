"""Downloads by teams."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Team


class TeamDownload(models.Model):
    """The downloads of one release on one day (UTC) by the people of a team, or by one of its service accounts.

    A person in two teams counts for both. People are not told apart.
    """

    release = models.ForeignKey("releases.Release", models.CASCADE, related_name="team_downloads")
    day = models.DateField()
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        related_name="+",
        help_text="A service account of the team.",
    )
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["release", "day", "team"], condition=Q(account=None), name="releases_team_downloads_once"
            ),
            models.UniqueConstraint(
                fields=["release", "day", "account"],
                condition=Q(account__isnull=False),
                name="releases_account_downloads_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.account or self.team}: {self.count}"

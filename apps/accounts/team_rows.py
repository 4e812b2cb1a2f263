"""Rows of teams that were deleted. `people.teams` has the verbs."""

from django.db import models


class DeletedTeam(models.Model):
    """The name of a deleted team, which stays taken: audit rows and the names of its service accounts refer to it."""

    name = models.CharField(max_length=63, unique=True)
    deleted_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

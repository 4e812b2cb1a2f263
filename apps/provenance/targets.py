"""Releases that statements are made about, as targets of jobs."""

from apps.provenance import statements
from apps.releases.targets import RELEASES

SOURCES = {statements.JOB: RELEASES}

from django.conf import settings

from apps.contrib.demo import RESET_HOUR, RESET_MINUTE
from apps.contrib.demo.seed import seed

READ_ONLY = "This is a demonstration: you can look at everything, and change nothing."


def sentence() -> str:
    """Return what each page of a demonstration says above all else."""
    if settings.DEMO != "on":
        return ""
    return f"{READ_ONLY} You see what {seed().visitor_name} sees. It is reset at {RESET_HOUR:02}:{RESET_MINUTE:02} UTC."

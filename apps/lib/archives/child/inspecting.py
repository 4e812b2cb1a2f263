"""What the confined child runs to check an archive: in goes the file, out comes a listing or the reasons against it."""

from typing import Any

from apps.lib.archives.child.reading import read
from apps.lib.archives.rules.exchange import listing_fields, refusal_fields
from apps.lib.archives.rules.limits import Limits
from apps.lib.archives.rules.outcome import Refusal
from apps.lib.sandbox.positioned import open_positioned


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    limits = Limits(**request["limits"])
    try:
        file = open_positioned(stdin)
        return listing_fields(read(file, limits, request["wanted"], form=request["form"], links=request["links"]))
    except Refusal as refusal:
        return refusal_fields(refusal)

"""Extended headers of POSIX tars: `length key=value` records that overrule the header behind them (pax, 4.18)."""

from apps.lib.archives.rules.outcome import Refusal, refuse

_MOST_DIGITS = 8
_PER_MEMBER = frozenset({b"path", b"size", b"linkpath"})


def read_records(data: bytes, file: str) -> dict[bytes, bytes]:
    """All records, strictly. `file` is named in a refusal."""
    records: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + _MOST_DIGITS + 1)
        digits = data[at:space] if space > at else b""
        # Digits only: int() alone would take "+5", "5_0" and spaces, as some readers do and others do not.
        if not digits.isdigit() or digits.startswith(b"0"):
            raise _malformed("a record without its length", file)
        end = at + int(digits)
        key, equals, value = data[space + 1 : end - 1].partition(b"=")
        if end > len(data) or data[end - 1 : end] != b"\n" or not key or not equals:
            raise _malformed(f"a record that is no key and value of {int(digits)} bytes", file)
        if key in records:
            raise _malformed(f"the record {key[:40]!r} twice", file)
        records[key] = value
        at = end
    return records


def check_global(records: dict[bytes, bytes], file: str) -> None:
    """`git archive` writes the commit id there. What names or measures a single member must not hold for all."""
    for key in records:
        if key in _PER_MEMBER or is_sparse(key):
            found = f"the record {key[:40]!r} for all members"
            raise refuse("pax_global", found, "comments, times and owners only", file=file)


def is_sparse(key: bytes) -> bool:
    """Whether a record says that the member has holes: GNU's three formats, and star's."""
    return key.startswith(b"GNU.sparse.") or key == b"SCHILY.realsize"


def check_size(records: dict[bytes, bytes], size: int, file: str) -> None:
    """Readers that overlook the record and readers that believe it must find the next header at one place."""
    told = records.get(b"size")
    if told is not None and told != str(size).encode("ascii"):
        found = f"the size {told[:40].decode('latin-1')} in its extended header and {size} in its own"
        raise refuse("pax_size", found, "one size", file=file)


def _malformed(found: str, file: str) -> Refusal:
    return refuse("pax_malformed", found, "records of length, key and value", file=file)

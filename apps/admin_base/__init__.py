"""Base classes for the admin pages of every room (D19).

A package beside the rooms: `audit` and `blobs` may not import each other, and `lib` knows no Django, so no room could
give this to both.
"""

from apps.admin_base.acts import Act
from apps.admin_base.base import LarderAdmin, LarderInline, ReadOnlyAdmin, is_key
from apps.admin_base.counting import BoundedPaginator, bounded_count, bounded_counts, count_of
from apps.admin_base.display import Column, badge, digest_prefix, link, moment, row_link, short, size, table
from apps.admin_base.export import export_csv
from apps.admin_base.filters import is_set, one_of, words

__all__ = [
    "Act",
    "BoundedPaginator",
    "Column",
    "LarderAdmin",
    "LarderInline",
    "ReadOnlyAdmin",
    "badge",
    "bounded_count",
    "bounded_counts",
    "count_of",
    "digest_prefix",
    "export_csv",
    "is_key",
    "is_set",
    "link",
    "moment",
    "one_of",
    "row_link",
    "short",
    "size",
    "table",
    "words",
]

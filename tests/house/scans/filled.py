"""SQL of columns that several tables have, the rooms' as well: `g` is the number of the row."""

# Of the days before: what a filter by today finds must not grow with the hour.
OLD = "date_trunc('day', now()) - g * interval '1 minute'"
SEMVER = "(1 + g / 100) || '.' || (g / 10 % 10) || '.' || (g % 10)"
ZIP = {"os": "'linux'", "arch": "'amd64'", "filename": "'terraform-provider-p' || g || '.zip'"}
DOCS_PAGE = {"kind": "'resources'", "slug": "'page-' || g", "name": "'page_' || g"}

"""Shared by all pages: errors, context, paging, theme, charts."""

"""What every page shares: errors, context, paging, theme, charts."""

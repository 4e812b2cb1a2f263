"""`{% site_name %}`, `{% site_logo %}` and `{% site_icon %}`: how this installation is called and shown.

Tags, not context: pages of failures and mails have no request.
"""

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.portal.frame import branding

register = template.Library()


@register.simple_tag
def site_name() -> str:
    return str(settings.SITE_NAME)


@register.simple_tag
def site_logo() -> str:
    """The URL of the logo."""
    return branding.site_logo().url


@register.simple_tag
def site_icon() -> SafeString:
    """The link to the icon of tabs and bookmarks: the operator's logo, or Larder's."""
    shown = branding.site_logo()
    url = shown.url if settings.SITE_LOGO else static("img/favicon.svg")
    return format_html('<link rel="icon" href="{}" type="{}">', url, shown.content_type)

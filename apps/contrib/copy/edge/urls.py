from django.urls import path

from apps.contrib.copy.edge import authorising, leading

app_name = "static-copy"
urlpatterns = [
    path("static-copy/authorise", authorising.Authorise.as_view(), name="authorise"),
    path("static-copy/tree/<path:path>", leading.Tree.as_view(), name="tree"),
    path("p/<path:path>", authorising.Link.as_view(), name="link"),
]

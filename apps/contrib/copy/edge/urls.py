from django.urls import path

from apps.contrib.copy.edge import authorising

app_name = "copy"
urlpatterns = [
    path("static-copy/authorise", authorising.Authorise.as_view(), name="authorise"),
]

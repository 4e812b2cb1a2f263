from apps.contrib.git.pages import connect, planning, repositories, settings

urlpatterns = [*connect.urlpatterns, *repositories.urlpatterns, *planning.urlpatterns, *settings.urlpatterns]

from apps.portal.sources import connect, planning, repositories, settings

urlpatterns = [*connect.urlpatterns, *repositories.urlpatterns, *planning.urlpatterns, *settings.urlpatterns]

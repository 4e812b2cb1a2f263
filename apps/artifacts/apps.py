from django.apps import AppConfig


class ArtifactsConfig(AppConfig):
    """The label is older than the room: these tables belonged to `oci`. Tables, permissions and the list of
    applied migrations of every installation carry it, so it stays.
    """

    name = "apps.artifacts"
    label = "oci"
    verbose_name = "OCI"

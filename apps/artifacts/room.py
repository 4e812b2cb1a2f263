from apps.room import Room


class Artifacts(Room):
    """The label is older than the room: these tables belonged to `oci`. Tables, permissions and the list of
    applied migrations of every installation carry it, so it stays.
    """

    name = "apps.artifacts"
    label = "oci"
    verbose_name = "OCI"

    periodic_tasks = {"collect-oci": {"task": "oci.collect", "schedule": 3600.0}}
    namespace_contents = ("repositories.contents_of",)

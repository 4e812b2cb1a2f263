from apps.http.errors import registry_dialect
from apps.http.views import MachineView, NothingHere


class ProtocolView(MachineView):
    http_method_names = ["get", "head"]
    dialect = registry_dialect


class Unknown(NothingHere):
    dialect = registry_dialect

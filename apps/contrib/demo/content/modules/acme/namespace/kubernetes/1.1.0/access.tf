resource "kubernetes_role_binding" "editors" {
  count = length(var.editors) == 0 ? 0 : 1

  metadata {
    name      = "editors"
    namespace = kubernetes_namespace.this.metadata[0].name
  }

  role_ref {
    api_group = "rbac.authorization.k8s.io"
    kind      = "ClusterRole"
    name      = "edit"
  }

  dynamic "subject" {
    for_each = var.editors

    content {
      kind = "Group"
      name = subject.value
    }
  }
}

variable "editors" {
  description = "Groups that may change what is in it."
  type        = list(string)
  default     = []
}

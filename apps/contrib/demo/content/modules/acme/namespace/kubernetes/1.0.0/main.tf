resource "kubernetes_namespace" "this" {
  metadata {
    name   = var.name
    labels = { team = var.team }
  }
}

resource "kubernetes_resource_quota" "this" {
  metadata {
    name      = "team"
    namespace = kubernetes_namespace.this.metadata[0].name
  }

  spec {
    hard = {
      "requests.cpu"    = var.cpu
      "requests.memory" = var.memory
    }
  }
}

resource "kubernetes_network_policy" "deny" {
  metadata {
    name      = "deny-by-default"
    namespace = kubernetes_namespace.this.metadata[0].name
  }

  spec {
    pod_selector {}
    policy_types = ["Ingress"]
  }
}

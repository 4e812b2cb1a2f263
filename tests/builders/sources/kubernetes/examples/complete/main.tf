module "cluster" {
  source  = "registry.acme.example/acme/kubernetes/aws"
  version = "@VERSION@"

  cluster_name = var.name
  vpc_id       = var.vpc_id
  subnet_ids   = var.subnet_ids

  node_groups = {
    arm = {
      instance_types = ["m7g.large"]
      scaling        = { min = 2, max = 10 }
      taints         = [{ key = "arch", value = "arm64", effect = "NO_SCHEDULE" }]
    }
    spot = {
      labels    = { lifecycle = "spot" }
      user_data = <<-SH
        echo ${var.name}
      SH
    }
  }
}

provider "kubernetes" {
  host                   = module.cluster.cluster_endpoint
  cluster_ca_certificate = base64decode(module.cluster.cluster_certificate_authority)

  exec {
    api_version = "client.authentication.k8s.io/v1beta1"
    command     = "aws"
    args        = ["eks", "get-token", "--cluster-name", module.cluster.cluster_name]
  }
}

resource "kubernetes_namespace_v1" "shop" {
  metadata {
    name = "shop"
  }
}

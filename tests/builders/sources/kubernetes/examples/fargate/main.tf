provider "aws" {
  region = "eu-central-1"
  assume_role {
    role_arn = "arn:aws:iam::123456789012:role/deploy"
  }
}

module "network" {
  source  = "registry.acme.example/acme/network/aws"
  version = ">= 1.0, < 3.0"

  name               = "fargate"
  availability_zones = ["eu-central-1a", "eu-central-1b"]
}

module "cluster" {
  source = "../../"

  cluster_name = "fargate"
  vpc_id       = module.network.vpc_id
  subnet_ids   = module.network.private_subnet_ids

  fargate_profiles = {
    default = { selectors = [{ namespace = "default" }, { namespace = "kube-system", labels = { k8s-app = "kube-dns" } }] }
  }
}

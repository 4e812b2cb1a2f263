provider "aws" {
  region = var.region
}

provider "aws" {
  alias  = "peer"
  region = "eu-west-1"
}

locals {
  zones = [for letter in ["a", "b", "c"] : "${var.region}${letter}"]
}

module "network" {
  source = "../../"
#: since 2.0.0
  providers = { aws = aws, aws.peer = aws.peer }
#: end

  name               = "complete"
  availability_zones = local.zones
  nat_gateway        = "per-zone"
  enable_ipv6        = true
  flow_log           = { enabled = true, retention_days = 90 }
  dhcp_options       = { domain_name = "corp.internal" }
  tags               = { Environment = "example" }
}

module "endpoints" {
  source = "../../modules/endpoints"

  vpc_id     = module.network.vpc_id
  subnet_ids = module.network.private_subnet_ids
  endpoints = {
    s3  = { kind = "Gateway" }
    ecr = { kind = "Interface", private_dns = true }
  }
}

module "labels" {
  source  = "registry.acme.example/acme/label/null"
  version = "~> 1.0"

  name = "complete"
}

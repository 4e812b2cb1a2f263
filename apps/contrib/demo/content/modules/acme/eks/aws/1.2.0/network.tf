# A cluster of its own VPC: leave subnet_ids empty.
module "vpc" {
  source  = "REGISTRY_HOST/acme/vpc/aws"
  version = "~> 1.2"
  count   = length(var.own_zones) == 0 ? 0 : 1

  name        = var.name
  cidr_block  = var.own_cidr_block
  zones       = var.own_zones
  nat_gateway = true
}

variable "own_zones" {
  description = "Zones of a VPC that is made for this cluster. Empty: none is made."
  type        = list(string)
  default     = []
}

variable "own_cidr_block" {
  description = "IPv4 range of that VPC."
  type        = string
  default     = "10.64.0.0/16"
}

module "local" {
  source = "./modules/a"
}

module "registry" {
  source  = "registry.acme.example/acme/vpc/aws"
  version = ">= 1.0, < 2.0"
  count   = 2
}

module "git" {
  source = "git::https://git.acme.example/modules.git//vpc?ref=v1.2.0"

  providers = {
    aws         = aws
    aws.replica = aws.other
  }
}

module "oci" {
  source   = "oci://registry.acme.example/modules/vpc?tag=1.0.0"
  for_each = { a = 1, b = 2 }
  value    = each.value
}

module "early" {
  source = "${var.base}/vpc"
}

variable "base" {
  type = string
}

# As a user of the registry would write it.
module "network" {
  source  = "registry.acme.example/acme/network/aws"
  version = "@VERSION@"

  name                    = "inside"
  availability_zones      = ["eu-central-1a", "eu-central-1b"]
  public_subnets          = []
  create_internet_gateway = false
  nat_gateway             = "none"
}

resource "aws_security_group" "inside" {
  name_prefix = "inside-"
  vpc_id      = module.network.vpc_id
}

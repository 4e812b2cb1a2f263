provider "aws" {
  region = "eu-central-1"
}

module "network" {
  source = "../../"

  name               = "simple"
  availability_zones = ["eu-central-1a"]
  public_subnets     = ["10.0.0.0/24"]
  private_subnets    = []
  nat_gateway        = "none"
#: since 2.0.0

  providers = { aws = aws, aws.peer = aws }
#: end
}

output "vpc_id" {
  value = module.network.vpc_id
}

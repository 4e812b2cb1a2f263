module "vpc" {
  source = "../.."

  name              = "example"
  cidr_block        = "10.20.0.0/16"
  zones             = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
  nat_gateways      = "each"
  gateway_endpoints = ["eu-central-1.s3", "eu-central-1.dynamodb"]
}

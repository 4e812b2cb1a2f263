module "network" {
  source = "../.."

  name      = "analytics"
  cloud_nat = true

  regions = {
    europe-west3 = "10.40.0.0/20"
    europe-west4 = "10.40.16.0/20"
  }
}

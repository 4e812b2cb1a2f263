module "orders" {
  source = "../.."

  name       = "orders"
  subnet_ids = ["subnet-0a1b", "subnet-0c2d"]
  replicas   = 2
}

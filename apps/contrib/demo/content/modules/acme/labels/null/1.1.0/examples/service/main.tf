module "labels" {
  source = "../.."

  team        = "payments"
  service     = "orders"
  stage       = "production"
  cost_centre = "4711"
}

output "name" {
  value = module.labels.name
}

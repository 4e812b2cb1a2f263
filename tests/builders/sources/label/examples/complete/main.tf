module "label" {
  source = "../../"

  namespace  = "acme"
  stage      = "prod"
  name       = "shop"
  attributes = ["public"]
  tags       = { CostCentre = "42" }
}

output "label" {
  value = {
    id   = module.label.id
    tags = module.label.tags
  }
}

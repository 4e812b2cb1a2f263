module "base" {
  source  = "registry.acme.example/acme/label/null"
  version = "@VERSION@"

  namespace = "acme"
  stage     = "prod"
}

module "shop" {
  source = "../../"

  context    = module.base.context
  name       = "shop"
  attributes = ["blue"]
}

resource "null_resource" "this" {
  count    = module.shop.enabled ? 1 : 0
  triggers = module.shop.tags
}

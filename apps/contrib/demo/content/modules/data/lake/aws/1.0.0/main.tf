module "bucket" {
  source   = "REGISTRY_HOST/acme/s3-bucket/aws"
  version  = "~> 2.0"
  for_each = toset(["raw", "clean", "published"])

  name  = "${var.name}-${each.key}"
  owner = "data"
}

resource "aws_glue_catalog_database" "this" {
  name = replace(var.name, "-", "_")
}

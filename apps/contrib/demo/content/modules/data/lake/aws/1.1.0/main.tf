module "bucket" {
  source   = "REGISTRY_HOST/acme/s3-bucket/aws"
  version  = "~> 2.1"
  for_each = toset(["raw", "clean", "published"])

  name              = "${var.name}-${each.key}"
  owner             = "data"
  expire_after_days = each.key == "raw" ? var.raw_days : 0
}

resource "aws_glue_catalog_database" "this" {
  name = replace(var.name, "-", "_")
}

variable "raw_days" {
  description = "Days for which raw data is kept."
  type        = number
  default     = 90
}

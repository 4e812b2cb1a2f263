terraform {
  required_version = ">= 1.0"
}

locals {
  names    = [for name in var.names : title(trimspace(name)) if trimspace(name) != ""]
  greeting = "${var.salutation}, ${length(local.names) > 0 ? join(" and ", local.names) : "whoever you are"}!"
}

locals {
  name = lower(join("-", compact([var.team, var.service, var.stage])))
}

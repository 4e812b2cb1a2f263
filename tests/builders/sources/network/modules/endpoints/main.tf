data "aws_vpc_endpoint_service" "this" {
  for_each = var.endpoints

  service      = each.key
  service_type = each.value.kind
}

resource "aws_vpc_endpoint" "this" {
  for_each = var.endpoints

  vpc_id              = var.vpc_id
  service_name        = data.aws_vpc_endpoint_service.this[each.key].service_name
  vpc_endpoint_type   = each.value.kind
  subnet_ids          = each.value.kind == "Interface" ? var.subnet_ids : null
  private_dns_enabled = each.value.kind == "Interface" && each.value.private_dns
  security_group_ids  = compact([each.value.security_group])
  tags                = merge(var.tags, { Name = each.key })

  timeouts {
    create = "10m"
  }
}

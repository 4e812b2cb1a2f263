locals {
  ordered = [for key in sort(keys(var.subnets)) : merge(var.subnets[key], { key = key })]
}

resource "aws_subnet" "this" {
  for_each = var.subnets

  vpc_id                  = var.vpc_id
  cidr_block              = each.value.cidr
  availability_zone       = each.value.zone
  map_public_ip_on_launch = var.public
  tags                    = merge(var.tags, { Name = "${var.name}-${each.key}" })
}

resource "aws_route_table" "this" {
  count = max(1, length(var.gateways))

  vpc_id = var.vpc_id
  tags   = merge(var.tags, { Name = "${var.name}-${count.index}" })
}

resource "aws_route" "out" {
  count = length(var.gateways)

  route_table_id         = aws_route_table.this[count.index].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = var.public ? var.gateways[count.index] : null
  nat_gateway_id         = var.public ? null : var.gateways[count.index]
}

resource "aws_route_table_association" "this" {
  for_each = aws_subnet.this

  subnet_id      = each.value.id
  route_table_id = aws_route_table.this[index(local.ordered[*].key, each.key) % length(aws_route_table.this)].id
}

# The network itself: one VPC, its ways out, and the routes between them.

locals {
  az_count    = min(length(var.availability_zones), var.max_availability_zones)
  zones       = slice(var.availability_zones, 0, local.az_count)
  has_private = length(var.private_subnets) > 0
  nat_count   = var.nat_gateway == "none" ? 0 : var.nat_gateway == "single" ? 1 : local.az_count
  tags        = merge({ Name = var.name, ManagedBy = "opentofu" }, var.tags)

  public_by_zone = { for index, cidr in var.public_subnets : "${local.zones[index % local.az_count]}-${index}" => {
    cidr = cidr
    zone = local.zones[index % local.az_count]
  } }
}

resource "aws_vpc" "this" {
  cidr_block                       = var.cidr
  instance_tenancy                 = var.instance_tenancy
  enable_dns_hostnames             = var.enable_dns_hostnames
  enable_dns_support               = var.enable_dns_support
  assign_generated_ipv6_cidr_block = var.enable_ipv6

  tags = merge(local.tags, var.vpc_tags)

  lifecycle {
    precondition {
      condition     = local.az_count > 0
      error_message = "At least one availability zone is needed."
    }
  }
}

resource "aws_vpc_ipv4_cidr_block_association" "secondary" {
  for_each = toset(var.secondary_cidrs)

  vpc_id     = aws_vpc.this.id
  cidr_block = each.value
}

resource "aws_internet_gateway" "this" {
  count = var.create_internet_gateway && length(var.public_subnets) > 0 ? 1 : 0

  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, var.internet_gateway_tags)
}

#: since 1.1.0
resource "aws_egress_only_internet_gateway" "this" {
  count = var.enable_ipv6 && local.has_private ? 1 : 0

  vpc_id = aws_vpc.this.id
  tags   = local.tags
}

#: end
resource "aws_eip" "nat" {
  count = local.nat_count

  domain = "vpc"
  tags   = merge(local.tags, { Name = format("%s-nat-%02d", var.name, count.index) })
}

resource "aws_nat_gateway" "this" {
  count = local.nat_count

  allocation_id = aws_eip.nat[count.index].id
  subnet_id     = module.public.ids[count.index]
  tags          = merge(local.tags, var.nat_gateway_tags)

  depends_on = [aws_internet_gateway.this]
}

module "public" {
  source = "./modules/subnets"

  name     = "${var.name}-public"
  vpc_id   = aws_vpc.this.id
  subnets  = local.public_by_zone
  public   = true
  gateways = aws_internet_gateway.this[*].id
  tags     = merge(local.tags, var.public_subnet_tags)
}

module "private" {
  source = "./modules/subnets"
  count  = local.has_private ? 1 : 0

  name     = "${var.name}-private"
  vpc_id   = aws_vpc.this.id
  subnets  = { for index, cidr in var.private_subnets : tostring(index) => { cidr = cidr, zone = local.zones[index % local.az_count] } }
  gateways = aws_nat_gateway.this[*].id
  tags     = merge(local.tags, var.private_subnet_tags)
}

module "flow_log" {
  source = "./modules/flow-log"
  count  = var.flow_log.enabled ? 1 : 0

  name           = var.name
  vpc_id         = aws_vpc.this.id
  retention_days = var.flow_log.retention_days
  traffic        = var.flow_log.traffic
  tags           = local.tags
}

#: since 2.0.0
moved {
  from = aws_eip.gateway
  to   = aws_eip.nat
}

#: end
#: since 2.0.0
check "zones_are_available" {
  data "aws_availability_zones" "available" {
    state = "available"
  }

  assert {
    condition     = alltrue([for zone in local.zones : contains(data.aws_availability_zones.available.names, zone)])
    error_message = "Some of ${join(", ", local.zones)} cannot be used at the moment."
  }
}
#: end

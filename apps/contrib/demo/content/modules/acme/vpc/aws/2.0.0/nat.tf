resource "aws_eip" "nat" {
  for_each = var.nat_gateways == "none" ? {} : local.nat_zones

  domain = "vpc"
  tags   = merge(var.tags, { Name = "${var.name}-nat-${each.key}" })
}

resource "aws_nat_gateway" "this" {
  for_each = aws_eip.nat

  allocation_id = each.value.id
  subnet_id     = aws_subnet.public[each.key].id
  tags          = merge(var.tags, { Name = "${var.name}-${each.key}" })
}

locals {
  nat_zones = var.nat_gateways == "each" ? local.zones : { (var.zones[0]) = 0 }
}

variable "nat_gateways" {
  description = "NAT gateways for private subnets: none, one, or each (one in each zone)."
  type        = string
  default     = "one"

  validation {
    condition     = contains(["none", "one", "each"], var.nat_gateways)
    error_message = "This must be none, one or each."
  }
}

output "nat_public_ips" {
  description = "Addresses from which private subnets reach the internet, by zone."
  value       = { for zone, address in aws_eip.nat : zone => address.public_ip }
}

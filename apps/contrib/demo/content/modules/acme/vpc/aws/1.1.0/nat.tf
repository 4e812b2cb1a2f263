resource "aws_eip" "nat" {
  count = var.nat_gateway ? 1 : 0

  domain = "vpc"
  tags   = merge(var.tags, { Name = "${var.name}-nat" })
}

resource "aws_nat_gateway" "this" {
  count = var.nat_gateway ? 1 : 0

  allocation_id = aws_eip.nat[0].id
  subnet_id     = values(aws_subnet.public)[0].id
  tags          = merge(var.tags, { Name = var.name })
}

variable "nat_gateway" {
  description = "Let private subnets reach the internet through one NAT gateway."
  type        = bool
  default     = false
}

output "nat_public_ips" {
  description = "Addresses from which private subnets reach the internet."
  value       = aws_eip.nat[*].public_ip
}

output "vpc_id" {
  description = "The network's id."
  value       = aws_vpc.this.id
}

output "vpc_arn" {
  description = "The network's ARN."
  value       = aws_vpc.this.arn
}

output "vpc_cidr" {
  description = "The network's first block of addresses."
  value       = aws_vpc.this.cidr_block
}

output "vpc_secondary_cidrs" {
  description = "Its further blocks."
  value       = [for association in aws_vpc_ipv4_cidr_block_association.secondary : association.cidr_block]
}

output "vpc_ipv6_cidr" {
  description = "Its IPv6 block, where it has one."
  value       = try(aws_vpc.this.ipv6_cidr_block, null)
}

output "vpc_owner_id" {
  description = "The account that owns it."
  value       = aws_vpc.this.owner_id
}

output "main_route_table_id" {
  description = "The route table that subnets use where they name none."
  value       = aws_vpc.this.main_route_table_id
}

output "default_security_group_id" {
  description = "The security group that every network starts with."
  value       = aws_vpc.this.default_security_group_id
}

output "default_network_acl_id" {
  description = "The network ACL that every network starts with."
  value       = aws_vpc.this.default_network_acl_id
}

output "public_subnet_ids" {
  description = "Public subnets, in the order of `public_subnets`."
  value       = module.public.ids
}

output "public_subnet_arns" {
  description = "Their ARNs."
  value       = module.public.arns
}

output "public_subnet_cidrs" {
  description = "Their addresses."
  value       = module.public.cidrs
}

output "public_route_table_ids" {
  description = "Their route tables."
  value       = module.public.route_table_ids
}

output "private_subnet_ids" {
  description = "Private subnets, in the order of `private_subnets`."
  value       = flatten(module.private[*].ids)
}

output "private_subnet_arns" {
  description = "Their ARNs."
  value       = flatten(module.private[*].arns)
}

output "private_subnet_cidrs" {
  description = "Their addresses."
  value       = flatten(module.private[*].cidrs)
}

output "private_route_table_ids" {
  description = "Their route tables."
  value       = flatten(module.private[*].route_table_ids)
}

output "internet_gateway_id" {
  description = "The internet gateway, where there is one."
  value       = one(aws_internet_gateway.this[*].id)
}

output "nat_gateway_ids" {
  description = "The NAT gateways."
  value       = aws_nat_gateway.this[*].id
}

output "nat_public_ips" {
  description = "The addresses that the world sees."
  value       = aws_eip.nat[*].public_ip
}

output "flow_log_id" {
  description = "The flow log, where there is one."
  value       = one(module.flow_log[*].id)
}

output "dhcp_options_id" {
  description = "The DHCP options, where they are ours."
  value       = one(aws_vpc_dhcp_options.this[*].id)
}

output "zones" {
  description = "The zones that are used."
  value       = local.zones
}

output "resolver_query_log_key" {
  description = "As it was handed in."
  value       = var.resolver_query_log_key
  sensitive   = true
}

#: until 1.1.0
output "classiclink" {
  description = "Left from long ago; removed in 2.0.0."
  value       = var.enable_classiclink
}

#: end
#: since 1.1.0
output "vpn_gateway_id" {
  description = "The VPN gateway, where there is one."
  value       = one(aws_vpn_gateway.this[*].id)
}

#: end
#: since 2.0.0
output "peering_connection_ids" {
  description = "Peering connections by the name of the peer."
  value       = { for name, peering in aws_vpc_peering_connection.this : name => peering.id }
}
#: end

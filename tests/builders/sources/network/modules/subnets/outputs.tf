output "ids" {
  description = "The subnets' ids."
  value       = [for item in local.ordered : aws_subnet.this[item.key].id]
}

output "arns" {
  description = "Their ARNs."
  value       = [for item in local.ordered : aws_subnet.this[item.key].arn]
}

output "cidrs" {
  description = "Their addresses."
  value       = local.ordered[*].cidr
}

output "route_table_ids" {
  description = "Their route tables."
  value       = aws_route_table.this[*].id
}

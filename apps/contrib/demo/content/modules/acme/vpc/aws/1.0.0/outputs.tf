output "vpc_id" {
  description = "Id of the VPC."
  value       = aws_vpc.this.id
}

output "public_subnet_ids" {
  description = "Ids of the public subnets, by zone."
  value       = { for zone, subnet in aws_subnet.public : zone => subnet.id }
}

output "private_subnet_ids" {
  description = "Ids of the private subnets, by zone."
  value       = { for zone, subnet in aws_subnet.private : zone => subnet.id }
}

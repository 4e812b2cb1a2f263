output "ids" {
  description = "Endpoints by the name of their service."
  value       = { for name, endpoint in aws_vpc_endpoint.this : name => endpoint.id }
}

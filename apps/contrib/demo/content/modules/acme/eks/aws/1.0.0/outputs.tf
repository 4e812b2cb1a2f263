output "endpoint" {
  description = "Address of the API server."
  value       = aws_eks_cluster.this.endpoint
}

output "certificate_authority" {
  description = "Certificate of the API server, in base64."
  value       = aws_eks_cluster.this.certificate_authority[0].data
  sensitive   = true
}

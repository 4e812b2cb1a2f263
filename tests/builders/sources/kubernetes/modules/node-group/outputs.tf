output "arn" {
  description = "The group's ARN."
  value       = aws_eks_node_group.this.arn
}

output "role_name" {
  description = "The role of its nodes."
  value       = aws_iam_role.this.name
}

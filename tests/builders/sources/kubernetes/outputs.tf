output "cluster_name" {
  description = "The cluster's name."
  value       = try(aws_eks_cluster.this[0].name, "")
}

output "cluster_arn" {
  description = "The cluster's ARN."
  value       = try(aws_eks_cluster.this[0].arn, null)
}

output "cluster_endpoint" {
  description = "Where its API answers."
  value       = try(aws_eks_cluster.this[0].endpoint, null)
}

output "cluster_certificate_authority" {
  description = "What its API proves itself with, in base 64."
  value       = try(aws_eks_cluster.this[0].certificate_authority[0].data, null)
}

output "cluster_version" {
  description = "The version that it runs."
  value       = try(aws_eks_cluster.this[0].version, null)
}

output "oidc_provider_arn" {
  description = "For roles of pods."
  value       = try(aws_iam_openid_connect_provider.this[0].arn, null)
}

output "node_groups" {
  description = "All that is known of the node groups."
  value       = module.node_groups
}

output "fargate_profiles" {
  description = "All that is known of the Fargate profiles."
  value       = module.fargate_profiles
}

output "bootstrap_token" {
  description = "As it was handed in."
  value       = var.bootstrap_token
  sensitive   = true
#: since 2.0.0
  ephemeral   = true
#: end
}

#: until 1.1.0
output "aws_auth" {
  description = "The `aws-auth` map."
  value       = yamlencode({ mapRoles = [] })
}

#: end
#: since 1.1.0
output "access_entries" {
  description = "Entries by principal."
  value       = { for principal, entry in module.access_entries : principal => entry.arn }
}

#: end
#: since 1.1.0
output "worker_groups" {
  description = "The old name of `node_groups`."
  value       = module.node_groups
  deprecated  = "Use node_groups; worker_groups goes in 3.0.0."
}
#: end

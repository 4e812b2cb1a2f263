output "id" {
  value       = local.enabled ? local.id : ""
  description = "The label."
}

output "id_full" {
  value       = local.enabled ? local.id_full : ""
  description = "The label, as long as it gets."
}

output "enabled" {
  value       = local.enabled
  description = "Whether anything is to be created."
}

output "namespace" {
  value       = local.enabled ? local.formatted.namespace : ""
  description = "The part as it is used."
}

output "stage" {
  value       = local.enabled ? local.formatted["stage"] : ""
  description = "The part as it is used."
}

output "name" {
  value       = local.enabled ? local.formatted.name : ""
  description = "The part as it is used."
}

output "tags" {
  value       = local.enabled ? local.tags : {}
  description = "Tags as a map."
}

output "tags_as_list" {
  value       = local.tags_as_list
  description = "Tags as a list, as autoscaling groups want them."
}

output "context" {
  value       = local.context
  description = "All of it, for `context` of another label."
}

#: since 2.0.0
output "normalized_context" {
  value       = merge(local.context, { normalized = true })
  description = "All of it after clean-up."
}
#: end

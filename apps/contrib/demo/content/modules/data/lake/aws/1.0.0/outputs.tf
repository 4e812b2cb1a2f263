output "bucket_ids" {
  description = "Names of the buckets, by stage."
  value       = { for stage, one in module.bucket : stage => one.id }
}

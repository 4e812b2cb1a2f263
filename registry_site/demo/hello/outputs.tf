output "greeting" {
  description = "The whole greeting, such as \"Hello, World!\"."
  value       = local.greeting
}

output "names" {
  description = "The names as they were greeted."
  value       = local.names
}

output "network" {
  description = "All of it."
  value       = module.network
}

output "id" {
  description = "Id of the cluster."
  value       = azurerm_kubernetes_cluster.this.id
}

output "fqdn" {
  description = "Host name of the API server."
  value       = azurerm_kubernetes_cluster.this.fqdn
}

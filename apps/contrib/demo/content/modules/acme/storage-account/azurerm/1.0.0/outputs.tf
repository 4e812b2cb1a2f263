output "id" {
  description = "Id of the account."
  value       = azurerm_storage_account.this.id
}

output "primary_blob_endpoint" {
  description = "Address of its blobs."
  value       = azurerm_storage_account.this.primary_blob_endpoint
}

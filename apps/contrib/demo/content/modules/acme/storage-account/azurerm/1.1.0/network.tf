resource "azurerm_storage_account_network_rules" "this" {
  storage_account_id         = azurerm_storage_account.this.id
  default_action             = length(var.allowed_subnet_ids) == 0 ? "Allow" : "Deny"
  virtual_network_subnet_ids = var.allowed_subnet_ids
}

variable "allowed_subnet_ids" {
  description = "Subnets that may reach it. Empty: every network."
  type        = list(string)
  default     = []
}

resource "azurerm_kubernetes_cluster" "this" {
  name                   = var.name
  resource_group_name    = var.resource_group
  location               = var.location
  dns_prefix             = var.name
  local_account_disabled = true

  default_node_pool {
    name       = "default"
    node_count = var.nodes
    vm_size    = var.vm_size
  }

  identity {
    type = "SystemAssigned"
  }

  azure_active_directory_role_based_access_control {
    azure_rbac_enabled = true
  }
}

variable "straße" {
  description = "Größe in Metern, 日本語 und \u00fc"
  default     = "ä"
}

output "名前" {
  value = var.straße
}

output "id" {
  description = "Id of the network."
  value       = google_compute_network.this.id
}

output "subnetwork_ids" {
  description = "Ids of the subnetworks, by region."
  value       = { for region, one in google_compute_subnetwork.this : region => one.id }
}

resource "google_compute_router" "this" {
  for_each = var.cloud_nat ? var.regions : {}

  name    = "${var.name}-${each.key}"
  network = google_compute_network.this.id
  region  = each.key
}

resource "google_compute_router_nat" "this" {
  for_each = google_compute_router.this

  name                               = each.value.name
  router                             = each.value.name
  region                             = each.key
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

variable "cloud_nat" {
  description = "Let machines without an address of their own reach the internet."
  type        = bool
  default     = false
}

resource "google_compute_network" "this" {
  name                    = var.name
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "this" {
  for_each = var.regions

  name                     = "${var.name}-${each.key}"
  network                  = google_compute_network.this.id
  region                   = each.key
  ip_cidr_range            = each.value
  private_ip_google_access = true
}

resource "google_compute_firewall" "health_checks" {
  name          = "${var.name}-health-checks"
  network       = google_compute_network.this.id
  source_ranges = ["35.191.0.0/16", "130.211.0.0/22"]

  allow {
    protocol = "tcp"
  }
}

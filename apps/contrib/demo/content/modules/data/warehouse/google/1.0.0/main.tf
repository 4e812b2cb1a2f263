module "network" {
  source  = "REGISTRY_HOST/acme/network/google"
  version = "~> 1.1"

  name    = "${var.name}-loaders"
  regions = { (var.region) = "10.80.0.0/24" }
}

resource "google_bigquery_dataset" "this" {
  dataset_id = var.name
  location   = var.region
}

resource "google_bigquery_dataset_iam_member" "readers" {
  for_each = toset(var.readers)

  dataset_id = google_bigquery_dataset.this.dataset_id
  role       = "roles/bigquery.dataViewer"
  member     = each.value
}

output "dataset_id" {
  description = "Id of the dataset."
  value       = google_bigquery_dataset.this.dataset_id
}

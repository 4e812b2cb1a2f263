variable "name" {
  description = "Name of the dataset."
  type        = string
}

variable "region" {
  description = "Region of the data."
  type        = string
  default     = "europe-west3"
}

variable "readers" {
  description = "Who may query it."
  type        = list(string)
  default     = []
}

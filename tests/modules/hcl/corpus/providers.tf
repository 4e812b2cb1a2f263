terraform {
  required_version = "~> 1.8"

  required_providers {
    aws = {
      source                = "hashicorp/aws"
      version               = ">= 5.0"
      configuration_aliases = [aws, aws.replica, aws.audit]
    }
    random = {
      source = "hashicorp/random"
    }
    legacy = "~> 2.0"
  }
}

provider "aws" {
  region = "eu-central-1"
}

provider "aws" {
  alias  = "replica"
  region = var.region
}

provider "null" {
  version = "~> 3.0"
}

variable "region" { default = "eu-west-1" }

resource "aws_s3_bucket" "replica" {
  provider = aws.replica
}

resource "google_thing" "beta" {
  provider = google-beta
}

resource "tls_private_key" "this" {}

data "terraform_remote_state" "network" {
  backend = "local"
}

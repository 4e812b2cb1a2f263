terraform {
  required_version = ">= 1.7, < 2.0"

  encryption {
    key_provider "pbkdf2" "main" {
      passphrase = var.passphrase
    }

    method "aes_gcm" "main" {
      keys = key_provider.pbkdf2.main
    }

    state {
      method   = method.aes_gcm.main
      enforced = true
    }
  }

  backend "s3" {
    bucket = "states"
  }
}

variable "passphrase" {
  sensitive = true
}

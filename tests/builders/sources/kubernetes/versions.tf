terraform {
#: until 1.1.0
  required_version = ">= 1.5.7"
#: end
#: since 2.0.0
  required_version = ">= 1.10.0, < 2.0.0"
#: end

  required_providers {
    aws = {
      source  = "hashicorp/aws"
#: until 1.1.0
      version = ">= 5.83"
#: end
#: since 2.0.0
      version = ">= 6.0"
#: end
    }

    tls = {
      source  = "hashicorp/tls"
      version = ">= 4.0"
    }
#: until 1.0.0

    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 2.10"
    }
#: end
  }
}

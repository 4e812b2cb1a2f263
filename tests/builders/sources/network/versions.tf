#: until 1.1.0
terraform {
  required_version = ">= 1.3"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

#: end
#: since 2.0.0
terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      source                = "hashicorp/aws"
      version               = ">= 5.40, < 7.0"
      configuration_aliases = [aws.peer]
    }
  }
}
#: end

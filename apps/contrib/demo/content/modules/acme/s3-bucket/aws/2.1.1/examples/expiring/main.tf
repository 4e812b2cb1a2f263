module "uploads" {
  source = "../.."

  name              = "acme-uploads"
  owner             = "payments"
  expire_after_days = 14
}

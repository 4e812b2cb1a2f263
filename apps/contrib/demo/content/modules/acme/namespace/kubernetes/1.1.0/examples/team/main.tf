module "payments" {
  source = "../.."

  name    = "payments"
  team    = "payments"
  editors = ["payments-developers"]
}

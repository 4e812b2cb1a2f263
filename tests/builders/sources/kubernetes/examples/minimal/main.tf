module "cluster" {
  source = "../../"

  cluster_name = "minimal"
  vpc_id       = "vpc-123"
  subnet_ids   = ["subnet-1", "subnet-2"]
}

"""Key services for the key-encryption key: AWS KMS, and the transit engine of Vault."""

"""What several tests share: small data sets in memory, answers without noise, plain references to compare with."""

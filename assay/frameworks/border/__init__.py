"""What runs in foreign environments, where Assay is not installed: the contract, the child script, tables, encoders."""

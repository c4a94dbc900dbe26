"""What it means: tables in, records out. No files, no plots."""

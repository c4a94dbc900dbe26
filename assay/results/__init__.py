"""What came out: predictions and truth become the scores table."""

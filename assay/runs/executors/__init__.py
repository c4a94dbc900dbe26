"""Where a supervised job runs."""

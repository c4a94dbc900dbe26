"""What is to be done: jobs, constraints, plans, outcomes, and the layout of a job on disk."""

"""Who does the learning: framework folders, their environments, the contract and the child script."""

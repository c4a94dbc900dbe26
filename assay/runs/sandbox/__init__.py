"""The tiers of enforcement, one module each, behind one protocol (`base`)."""

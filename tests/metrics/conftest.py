"""Property tests have no deadline: a busy machine is not a failure."""

from hypothesis import settings

settings.register_profile("assay", deadline=None)
settings.load_profile("assay")

"""Train auto-sklearn 2's policy selectors once, at install: `prepare.py FOLDER`."""

import os
import sys

os.environ["XDG_CACHE_HOME"] = sys.argv[1]

from autosklearn.experimental.askl2 import AutoSklearn2Classifier

AutoSklearn2Classifier()

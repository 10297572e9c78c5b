"""The environment of this process before a test loads a module, which may set variables."""

import os

ENVIRON = dict(os.environ)

"""What all frameworks share."""

from common.system import borrowed

borrowed.install()

"""The memory that is free, by the standard library alone."""

import os
import re

UNKNOWN = 2**34  # bytes, where the system does not say


def available():
    """Bytes that can be used without swapping."""
    try:
        with open("/proc/meminfo") as file:
            return 1024 * int(re.search(r"MemAvailable:\s+(\d+) kB", file.read()).group(1))
    except (OSError, AttributeError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN

"""Write files completely or not at all."""

import json
import os
import tempfile
from collections import OrderedDict
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone

from common.system.errors import InputError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # the project's


def cache_folder():
    """The cache folder, which exists: $ROSETTA_CACHE, or the project's in the user's cache."""
    import pooch  # here, because dump and compare do without it

    folder = os.environ.get("ROSETTA_CACHE") or str(pooch.os_cache("rosetta-stone"))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError("the cache, %s, cannot be made: %s" % (folder, error.strerror))
    return folder


@contextmanager
def locked(name, taken):
    """Hold a lock of this machine while the block runs; InputError if another process holds it.

    taken: that error's words.
    """
    import fcntl  # here, because Windows, where dump and compare run, too, does not have it

    path = os.path.join(cache_folder(), name + ".lock")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "w"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(taken)
        except OSError as error:
            raise InputError("%s: cannot be locked: %s" % (path, error.strerror))
        yield


def reports_folder(kind, machine):
    """The folder for a machine's results of one kind, such as "bench".

    It is one that git ignores, so that your results overwrite no committed ones.
    $ROSETTA_REPORTS names another, such as "reports", to commit them.
    """
    place = os.environ.get("ROSETTA_REPORTS", os.path.join("reports", "mine"))
    return os.path.join(ROOT, place, kind, machine)


def check_writable(path):
    """Make missing folders; InputError that names ``path`` unless a file can be written there."""
    if not os.path.basename(path):
        raise InputError("%s: cannot be written: it is a folder" % path)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
        # Try it, because root may write in spite of permission bits.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError("%s: cannot be written: %s" % (path, error.strerror))
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except OSError as error:  # the name is too long
        raise InputError("%s: cannot be written: %s" % (path, error.strerror))
    if os.path.lexists(path) and not os.path.isfile(path):
        # It is a folder or a device, which must not be replaced.
        raise InputError("%s: cannot be written: it is not a plain file" % path)


@contextmanager
def atomic_write(path):
    """A binary file that appears at ``path`` only if the block succeeds."""
    check_writable(path)
    folder = os.path.dirname(os.path.abspath(path))
    handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, 0o644)  # mkstemp's files are private
        os.replace(part, path)
    except BaseException as error:
        os.remove(part)
        if isinstance(error, OSError):  # the disk is full, the name is too long
            raise InputError("%s: cannot be written: %s" % (path, error.strerror))
        raise


def write_json(path, value, allow_nan=False):
    """Write a JSON file atomically; ValueError for NaN and infinity, which JSON lacks."""
    text = json.dumps(value, indent=1, allow_nan=allow_nan) + "\n"
    with atomic_write(path) as file:
        file.write(text.encode())


def earlier(path):
    """The earlier result at ``path``; None if there is no file, {} if it cannot be read."""
    try:
        with open(path) as file:
            result = json.load(file, object_pairs_hook=OrderedDict)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) else {}


def now():
    """The time in UTC, as in results."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

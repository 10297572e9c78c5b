"""Download data sets: verify them, unpack them safely, and keep them only if complete."""

import os
import shutil
import tarfile
import tempfile
import zlib
from contextlib import contextmanager

import pooch
import requests

from common.system.errors import InputError

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
# The archive's MD5, c32a1d4ab5d03f1284b67883e8d87530, is on its page
# (https://www.cs.toronto.edu/~kriz/cifar.html).
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"

FOLDER = "cifar-10-batches-bin"
FILES = tuple("data_batch_%d.bin" % i for i in range(1, 6)) + ("test_batch.bin",)


class NoNetwork(Exception):
    """The server cannot be reached. Other failures are InputErrors."""


def retrieve(url, folder, name, known_hash):
    """Download ``url`` as ``folder``/``name``; return that path.

    known_hash: "sha256:..." or "md5:...". NoNetwork if no connection can be made. InputError if the
    server refuses, the download breaks off or has another hash, or the folder cannot be written. No
    partial data remains.
    """
    try:
        # pooch moves the file to its name only after the checksum has matched.
        return pooch.retrieve(
            url,
            known_hash=known_hash,
            fname=name,
            path=folder,
            downloader=pooch.HTTPDownloader(progressbar=True, chunk_size=1 << 16, timeout=30),
        )
    except requests.exceptions.RequestException as error:
        if _unreachable(error):
            raise NoNetwork(_line(error))
        raise InputError("%s: the download failed: %s" % (url, _line(error)))
    except ValueError:
        raise InputError("%s: the download is corrupt: its hash is not %s" % (url, known_hash))
    except OSError as error:
        raise InputError("%s: the download cannot be kept: %s" % (folder, _line(error)))


@contextmanager
def temporary_folder(folder):
    """A new folder in ``folder``; the block's end removes it, unless it was put in place."""
    try:
        os.makedirs(folder, exist_ok=True)
        temporary = tempfile.mkdtemp(prefix="unfinished-", dir=folder)
    except OSError as error:
        raise InputError("%s: the download cannot be kept: %s" % (folder, _line(error)))
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def put_in_place(temporary, target):
    """Rename a temporary folder to ``target``; another process may have done the same already."""
    os.chmod(temporary, 0o755)  # mkdtemp's folders are private
    try:
        os.replace(temporary, target)
    except OSError as error:
        if not os.path.isdir(target):
            raise InputError("%s: the download cannot be kept: %s" % (target, _line(error)))


def fetch(folder, url=URL, sha256=SHA256):
    """Download CIFAR-10 and unpack it as ``folder``/cifar-10-batches-bin; return that path.

    NoNetwork and InputError as for ``retrieve``.
    """
    # The name is unique, because another process may download it too.
    name = "cifar-10-binary-%d.tar.gz" % os.getpid()
    archive = retrieve(url, folder, name, "sha256:" + sha256)
    try:
        return unpack(archive, folder)
    finally:
        os.remove(archive)


def unpack(archive, folder):
    """Unpack the six batch files of a tar into ``folder``/cifar-10-batches-bin; return that path.

    InputError, with nothing written, if a member is a link or a device or points outside that
    folder, or if a batch file is missing.
    """
    target = os.path.join(folder, FOLDER)
    try:
        with temporary_folder(folder) as temporary:
            with tarfile.open(archive) as tar:
                members = {}
                for member in tar.getmembers():
                    _check(archive, member)
                    members[member.name] = member
                for name in FILES:
                    member = members.get(FOLDER + "/" + name)
                    if member is None or not member.isfile():
                        raise InputError("%s: %s is missing from the archive" % (archive, name))
                    with tar.extractfile(member) as source:
                        with open(os.path.join(temporary, name), "wb") as destination:
                            shutil.copyfileobj(source, destination)
            put_in_place(temporary, target)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise InputError("%s: cannot be unpacked: %s" % (archive, _line(error)))
    return target


def _check(archive, member):
    """Refuse a member that is not a plain file or folder inside FOLDER."""
    # Windows also treats backslashes and a drive's colon as parts of a path.
    parts = member.name.replace("\\", "/").split("/")
    inside = parts[0] == FOLDER and ".." not in parts and ":" not in member.name
    if not inside or not (member.isfile() or member.isdir()):
        raise InputError("%s: refused: member %r is not a file in it" % (archive, member.name))


def _unreachable(error):
    """Whether no connection could be made, as opposed to one that was refused or broke off."""
    if isinstance(error, requests.exceptions.SSLError):
        return False
    # Connections that stalled or broke off are ConnectionErrors too, around these urllib3 errors.
    cause = type(error.args[0]).__name__ if error.args else ""
    broken = cause in ("ReadTimeoutError", "ProtocolError")
    return isinstance(error, requests.exceptions.ConnectionError) and not broken


def _line(error):
    return " ".join(str(error).split()) or type(error).__name__

"""Files of tinygrad's own made by someone who means harm; see ``tests/native/hostile.py``."""

import json
import os


def _change_header(path, change):
    """Change the header of a ``.safetensors`` file, and leave the values as they are."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, values = json.loads(file.read(size)), file.read()
    change(header)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + values)


def behind_the_end(path, marker):
    """A tensor whose values would follow the end of the file."""
    size = os.path.getsize(path)

    def move(header):
        first, last = header["dense1.weight"]["data_offsets"]
        header["dense1.weight"]["data_offsets"] = [first + size, last + size]

    _change_header(path, move)
    return "not weights of this network"


def header_without_end(path, marker):
    """A header that claims to be longer than the file."""
    with open(path, "r+b") as file:
        file.write((2**40).to_bytes(8, "little"))
    return "not weights of this network"


ATTACKS = {".tinygrad.safetensors": (behind_the_end, header_without_end)}

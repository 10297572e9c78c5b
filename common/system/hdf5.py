"""The data sets of an open HDF5 file. Nothing outside the file is read."""

import h5py  # installed with the frameworks that use such files

from common.system.errors import InputError


def datasets(file):
    """Yield every data set; InputError for links, data in other files, and groups that repeat.

    A group that each level links twice would make a small file endless.
    """
    seen = set()

    def inside(group):
        place = h5py.h5o.get_info(group.id).addr
        if place in seen:
            raise InputError("%s is there twice, or inside itself" % group.name)
        seen.add(place)
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise InputError("%s/%s is a link" % (group.name.rstrip("/"), name))
            item = group[name]
            if isinstance(item, h5py.Group):
                yield from inside(item)
            elif isinstance(item, h5py.Dataset):
                if item.external or item.is_virtual:
                    raise InputError("%s is in another file" % item.name)
                if item.shape is not None:  # else it is no array at all
                    yield item

    yield from inside(file["/"])

"""Matches the names of arrays in two recordings, whatever their separators, case and prefix."""

import re
from functools import lru_cache

# Both names become the second one.
SYNONYMS = {
    "kernel": "weight",
    "gamma": "weight",
    "scale": "weight",
    "beta": "bias",
    "moving": "running",
    "variance": "var",
    "gradient": "grad",
}
PARAMETERS = {"weight", "bias", "w", "b", "weights", "biases", "param", "parameter", "embeddings"}
OUTPUT = "output"
LONG = 4  # letters of a name without a number that may match the end of another


def has_name(name):
    """True unless the name is positional, like ``arr_0`` or ``0``."""
    return not re.match(r"(arr_)?\d*$", name)


def is_parameter(name):
    """Whether a name ends as parameters' names do, like ``conv1.W`` or ``dense/kernel:0``."""
    parts = [part for part in words(name) if not part.isdigit()]
    return bool(parts) and parts[-1] in PARAMETERS


def is_output(name):
    """Whether recorders call a result of the network so, which no layer returns, or a part of it.

    It may have been computed long before: it is recorded when the network returns it.
    """
    return re.match(OUTPUT + "($|[., ])", name) is not None


@lru_cache(maxsize=None)
def words(name):
    """The words and numbers of a name, in lower case: ``h.0.LayerNorm`` is h, 0, layer, norm."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+", name)
    return tuple(SYNONYMS.get(part, part) for part in (part.lower() for part in parts))


def key(parts):
    """Words as one string; a dot separates only neighbouring numbers."""
    text = ""
    for part in parts:
        text += "." + part if text[-1:].isdigit() and part.isdigit() else part
    return text


def _telling(parts):
    return any(part.isdigit() for part in parts[:-1]) or sum(map(len, parts)) >= LONG


def same(ours, theirs):
    """{place in ours: place in theirs} of names that differ only in spelling."""
    pairs = {}
    for level in (_exact, _written, _ending):
        _match(ours, theirs, pairs, level)
    return pairs


def _exact(name):
    return [name]


def written(name):
    """A name without its separators and case."""
    return key(words(name))


def _written(name):
    return [written(name)]


def _ending(name):
    parts = words(name)
    return [key(parts[n:]) for n in range(len(parts)) if _telling(parts[n:])]


def _match(ours, theirs, pairs, level):
    """Add pairs of names that share a key of this level with no other, the longest keys first."""
    sides = []
    for names, taken in ((ours, set(pairs)), (theirs, set(pairs.values()))):
        keys = {}
        for place, name in enumerate(names):
            if has_name(name) and place not in taken:
                for k in filter(None, level(name)):
                    keys.setdefault(k, []).append(place)
        sides.append(keys)
    whole = [{key(words(name)) for name in names} for names in (ours, theirs)]
    taken = set(pairs.values())
    for k in sorted(set(sides[0]) & set(sides[1]), key=len, reverse=True):
        if level is _ending and not (k in whole[0] or k in whole[1]):
            continue  # two different prefixes
        free = (
            [i for i in sides[0][k] if i not in pairs],
            [j for j in sides[1][k] if j not in taken],
        )
        if len(free[0]) == len(free[1]) == 1:
            pairs[free[0][0]] = free[1][0]
            taken.add(free[1][0])


@lru_cache(maxsize=8)
def scopes(ours, theirs):
    """{place of a module in ours: places of the operations in its scope in theirs}.

    A recording of operations names them by their scopes: the module ``layer.0.output`` returns the
    last one whose name contains its own, such as ``model/layer_0/output/add``. Names are in tuples.
    """
    sides = [
        [" %s " % " ".join(words(_without_methods(name))) for name in names]
        for names in (ours, theirs)
    ]
    found = {}
    for place, name in enumerate(sides[0]):
        if _telling(words(ours[place])):
            inside = [
                k
                for k, other in enumerate(sides[1])
                if name in other and name != other and re.search("[./]", theirs[k])
            ]
            if inside:
                found[place] = inside
    return found


def _without_methods(name):
    """A name without the scopes of methods, which are written ``module/module.method``."""
    kept = []
    for part in name.split("/"):
        if not (kept and part.startswith(kept[-1] + ".")):
            kept.append(part)
    return "/".join(kept)

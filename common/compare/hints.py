"""Lines on arrays that agree, or that were not compared, and that may still be a mistake."""

from common.compare import difference, masked, trying
from common.compare.names import OUTPUT
from common.compare.optimizers import clipping


def of_layers(recordings, layers, jumps=True):
    """Yield lines on arrays that agree, but not as well as others, or not everywhere.

    jumps: not after a convention, which makes one.
    """
    wrong = {layer.a.place for layer in layers if layer.differs}
    for i, j in trying.jumps(recordings) if jumps else ():
        if i not in wrong:
            names = (recordings.a[i].name, recordings.b[j].name)
            yield "a jump within the tolerance, which may be a mistake: %s in A, %s in B" % names
            break
    names = recordings.rounding_only
    if names:
        says = "no difference: the gradient is rounding alone, on both sides: %s"
        yield says % ", ".join(names[:4]) + ", ..." * (len(names) > 4)
    for i, j, ours, theirs in trying.masks(recordings):
        names = (recordings.a[i].name, ours, recordings.b[j].name, theirs)
        yield "no difference: %s masks with %s in A, %s with %s in B" % names
        return


def of_recordings(recordings, first):
    """Lines on what makes no difference, or none that shows."""
    clips = clipping.explained(recordings.a, recordings.b)
    kinds = (masked.hint, uncompared, other_sizes, ends, other_order, shorter)
    found = [kind(recordings) for kind in kinds] if first is None else []
    if clips and (first is None or clips != first["computes"]):
        found.append("a difference within the tolerance: " + clips)
    return [line for line in found if line]


def uncompared(recordings):
    """A line on arrays that may be the same layer's in both, such as that of a head; or None.

    Later arrays agree, but may not have been computed from them.
    """
    says = "not compared: %s in A, %s in B; if they are one layer's, give both one name"
    for before, ours, theirs in recordings.gaps():
        new = recordings.only_in_a(ours), recordings.only_in_b(theirs)
        for i, j in zip(*new) if len(new[0]) == len(new[1]) else ():
            a, b = recordings.a[i], recordings.b[j]
            if sorted(a.shape) == sorted(b.shape) and recordings.has_rows(i, j):
                return says % (a, b)
        chain = difference.chain(recordings, before, *new)
        places = chain and (chain["a_place"], chain["b_place"])
        sure = chain and (chain["paired_by"] == "name" or len(new[0]) == len(new[1]))
        if sure and recordings.has_rows(*places):
            return says % (recordings.a[places[0]], recordings.b[places[1]])
    return None


def other_sizes(recordings):
    """A line on arrays of the same name whose sizes differ, such as a table of words; or None."""
    theirs = {b.name: j for j, b in enumerate(recordings.b)}
    for i, a in enumerate(recordings.a):
        j = theirs.get(a.name)
        if j is None or a.size == recordings.b[j].size:
            continue
        if recordings.only_in_a([i]) and recordings.only_in_b([j]):
            return "not compared: %s in A, %s in B: they differ in size" % (a, recordings.b[j])
    return None


def ends(recordings):
    """A line on the result of the network, if only one side recorded it; or None."""
    results = [
        [place for place, array in enumerate(side) if array.name == OUTPUT]
        for side in (recordings.a, recordings.b)
    ]
    if all(results):
        return None
    for i in recordings.only_in_a(results[0]):
        return "not compared: %s, which only A has" % recordings.a[i]
    for j in recordings.only_in_b(results[1]):
        return "not compared: %s, which only B has" % recordings.b[j]
    return None


def other_order(recordings):
    """A line on an array of the pass that B has in another order, though no earlier one; or None.

    That is right if what uses it expects that order.
    """
    known = set()
    for pair in recordings.pairs:
        a, b, kind = recordings.a[pair.a], recordings.b[pair.b], pair.layout.kind()
        moved = pair.layout.order is not None or pair.layout.flipped
        given = recordings.is_parameter(pair) or not recordings.has_rows(pair.a, pair.b)
        if moved and not given and (a.name, a.shape) == (b.name, b.shape) and kind not in known:
            says = "agrees in another order: %s, %s; what uses it must expect that"
            return says % (a, pair.layout.words(a, b))
        known.add(kind)
    return None


def shorter(recordings):
    """A line on a recording B most of whose arrays are less precise than A's; or None."""
    pairs = [(recordings.a[pair.a], recordings.b[pair.b]) for pair in recordings.pairs]
    pairs = [(a.epsilon, b.epsilon) for a, b in pairs if a.epsilon and b.epsilon]
    fewer = sorted(theirs for ours, theirs in pairs if theirs > ours)
    if 2 * len(fewer) <= len(pairs):
        return None
    says = "B has fewer digits than A: differences up to %.1g of a value are none"
    return says % fewer[len(fewer) // 2]

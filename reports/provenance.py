"""Where the figures of result files come from: data, machine and date, for people."""

from common.system.machine import described

# {beginning of the checksum: how the pixels differ from the published ones}.
PIXELS = {
    "a9c109eea194": "decoded from JPEG copies, so they differ slightly from the official files"
}


def data(dataset):
    """A data set, with the origin of its pixels."""
    known = [says for begin, says in PIXELS.items() if dataset["sha256"].startswith(begin)]
    return "; ".join([dataset["name"]] + known)


def provenance(committed):
    """Where figures of these files come from, as a sentence or two."""
    results = [file.result for file in committed]
    sets = [
        data(result["dataset"]) if "dataset" in result else "random numbers" for result in results
    ]
    sets = "; ".join(dict.fromkeys(sets))
    machines = "; ".join(dict.fromkeys(described(result["machine"]) for result in results))
    dates = sorted(result["made"][:10] for result in results)
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    return "Data: %s. Machine: %s. Made %s." % (sets, machines, when)

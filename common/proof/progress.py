"""Show progress while a certificate is made: a bar, and a verdict after each rung."""

from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def reporting(rungs, shown=True):
    """Yield a function that takes the result of each of ``rungs`` in turn, and shows it."""
    bar = tqdm(total=len(rungs), desc=rungs[0], unit="rung", leave=False, disable=not shown)
    with bar:

        def report(result):
            for line in lines(result) if shown else ():
                tqdm.write(line)
            bar.update()
            if bar.n < len(rungs):
                bar.set_description(rungs[bar.n])

        yield report


def lines(result):
    """One rung as lines of text: the verdict, and the first failed check's detail."""
    error = "-" if result["error"] is None else "%.2e" % result["error"]
    word = {True: "passed", False: "FAILED", None: "open  "}[result["passed"]]
    row = (result["rung"], word, error, result["tolerance"], result["what"])
    text = ["%-11s %s  error %8s  tolerance %.2e  %s" % row]
    if result["detail"]:
        text.append("            " + result["detail"])
    if result.get("missing"):
        first, more = result["missing"][0], len(result["missing"]) - 1
        text.append("            not answered: " + first + (" and %d more" % more if more else ""))
    return text

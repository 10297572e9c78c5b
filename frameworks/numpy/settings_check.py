"""NumPy and CuPy: the layers show precision and memory, the BLAS its threads."""

import time

import threadpoolctl


def in_force(module, settings, model):
    network = model[0]
    precisions = {str(w.dtype) for layer in network for w in layer.parameters}
    precisions |= {str(w.dtype) for layer in network for w in layer.buffers.values()}
    (precision,) = precisions - {"bool"}
    blas = [library for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]
    (threads,) = {library["num_threads"] for library in blas}
    conv1 = next(layer for layer in network if layer.name == "conv1")
    # The longest buffer of columns holds one chunk of images.
    rows = max(len(w) for key, w in conv1.buffers.items() if key.startswith("columns"))
    chunk = (rows - 2) // (conv1.side + 1) ** 2
    shares = sum(key.startswith("columns") for key in conv1.buffers)
    return {
        "precision": precision,
        "threads": threads,
        "chunk_images": chunk,
        "shares": shares,
        "idle_blas": _idle_blas(module.xp),
    }


def _idle_blas(xp):
    """What BLAS's other threads do after a product, while this thread sleeps."""
    matrix = xp.ones((1024, 1024))
    for _ in range(5):  # on a busy machine, a spinning thread may not always get a core
        xp.matmul(matrix, matrix)
        start = time.process_time()
        time.sleep(0.02)
        if time.process_time() - start > 0.005:
            return "spins"
    return "sleeps"

"""NumPy and CuPy: precision and memory are seen in the layers, threads in the BLAS."""

import threadpoolctl


def in_force(module, settings, model):
    network = model[0]
    precisions = {str(w.dtype) for layer in network for w in layer.parameters}
    precisions |= {str(w.dtype) for layer in network for w in layer.buffers.values()}
    (precision,) = precisions - {"bool"}
    blas = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    (threads,) = {one["num_threads"] for one in blas}
    conv1 = next(layer for layer in network if layer.name == "conv1")
    # The longest column of windows is as long as one chunk's images.
    rows = max(len(w) for key, w in conv1.buffers.items() if key.startswith("columns"))
    chunk = (rows - 2) // (conv1.side + 1) ** 2
    return {"precision": precision, "threads": threads, "chunk_images": chunk}

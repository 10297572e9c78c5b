"""TensorFlow 2: what is known before it is imported."""

from frameworks.facts import OF_TF, Environment, Framework

# On a CPU without VNNI, BF16 or AMX TensorFlow leaves oneDNN off, and then lacks NCHW convolution.
ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "1"}

TENSORFLOW = Environment(
    "tensorflow",
    "TensorFlow",
    "tensorflow",
    environ=ONEDNN,
    threads_from=OF_TF,
    forget="frameworks.tensorflow.graphs:forget",
    workers_of="tensorflow",
)
CUDA = TENSORFLOW._replace(
    name="tensorflow-cuda",
    requirements="requirements-cuda.txt",
    gpu_of="tensorflow",
    profiled=False,
    workers_of="",
)

FRAMEWORK = Framework([TENSORFLOW, CUDA], endings=(".ckpt", ".saved_model"))

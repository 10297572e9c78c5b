"""Flax on JAX: what is known before it is imported."""

from frameworks.facts import OF_XLA, OLDER_CONVOLUTIONS, SHARED_GPU, Environment, Framework

FLAX = Environment(
    "flax",
    "Flax on JAX",
    "flax",
    set_env={"JAX_COMPILATION_CACHE_DIR": "{env_dir}/compiled"},  # a step compiles for seconds
    onnx=True,
    forget="jax:clear_caches",
    flags=OLDER_CONVOLUTIONS,
    threads_from=OF_XLA,
    profiler="jax",
    workers_of="flax",
)
FLAX_CUDA = FLAX._replace(
    name="flax-cuda",
    requirements="requirements-cuda.txt",
    set_env=dict(FLAX.set_env, **SHARED_GPU),
    gpu_of="flax",
    profiled=False,
    workers_of="",
)

FRAMEWORK = Framework([FLAX, FLAX_CUDA], endings=(".msgpack",))

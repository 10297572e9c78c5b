"""JAX: what is known before it is imported."""

from frameworks.facts import OF_XLA, OLDER_CONVOLUTIONS, SHARED_GPU, Environment, Framework

JAX = Environment(
    "jax",
    "JAX",
    "jax",
    set_env={"JAX_COMPILATION_CACHE_DIR": "{env_dir}/compiled"},  # a step compiles for seconds
    forget="jax:clear_caches",
    flags=OLDER_CONVOLUTIONS,
    threads_from=OF_XLA,
    workers_of="jax",
)
JAX_CUDA = JAX._replace(
    name="jax-cuda",
    requirements="requirements-cuda.txt",
    set_env=dict(JAX.set_env, **SHARED_GPU),
    gpu_of="jax",
    profiled=False,
    workers_of="",
)

FRAMEWORK = Framework([JAX, JAX_CUDA], endings=(".jax.npz",))

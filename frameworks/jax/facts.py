"""JAX: what is known before it is imported."""

from frameworks.facts import OF_XLA, Environment, Framework

JAX = Environment(
    "jax",
    "JAX",
    "jax",
    set_env={"JAX_COMPILATION_CACHE_DIR": "{env_dir}/compiled"},  # a step compiles for seconds
    forget="jax:clear_caches",
    threads_from=OF_XLA,
    workers_of="jax",
)
JAX_CUDA = JAX._replace(
    name="jax-cuda", requirements="requirements-cuda.txt", gpu_of="jax", workers_of=""
)

FRAMEWORK = Framework([JAX, JAX_CUDA], endings=(".jax.npz",))

"""Lane bf16 is proven where a framework has it, and what is not mixed precision is caught."""

import subprocess
import sys
from multiprocessing import get_context

import frameworks
from common.networks.cnn import CNN
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import machine, modules
from common.system.errors import InputError
from common.system.files import ROOT
from tests.parity.test_models import proven_elsewhere

KERAS = {
    "weights_too": ('"mixed_bfloat16"', '"bfloat16"', "weights"),
    "not_in_force": (
        'keras.config.set_dtype_policy("mixed_bfloat16")\n'
        "        return dict(settings, products=keras.config.dtype_policy().compute_dtype)",
        'return dict(settings, products="bfloat16")',
        "forward",
    ),
    "dropout_too": ('layer.dtype_policy = "float32"', "pass", "dropout"),
}
FORWARD = "return rounded(self.layer.forward(rounded(x), training))"
BACKWARD = """        g = self.layer.backward(rounded(g))
        for gradient in self.gradients:
            gradient[:] = rounded(gradient)
        return None if g is None else rounded(g)"""
SHORT_VELOCITY = """    def loss(network, settings, hp, weights):
        model = module.loss(network, settings, hp, weights)

        def cut(optimizer, *_):
            for state in optimizer.state.values():
                if state.get("momentum_buffer") is not None:
                    state["momentum_buffer"] = state["momentum_buffer"].bfloat16().float()

        model[2].register_step_post_hook(cut)
        return model

    return dict(configure=configure, symbol=symbol, loss=loss)"""
# {folder: {mistake: (text of its bf16.py, what stands in its place, the first rung that fails)}}
PLANTED = {
    "numpy": {
        "cut_off": ("bits + (integer(2 ** (lower - 1) - 1) + last)", "bits", "forward"),
        "exact_gradients": ("gradient[:] = rounded(gradient)", "pass", "gradient"),
        "weights_alone": (FORWARD, "return self.layer.forward(x, training)", "forward"),
        "activations_alone": (
            "[rounded(w) for w in self.parameters]",
            "self.parameters",
            "forward",
        ),
        "one_layer_exact": (
            FORWARD,
            "exact = {'conv3': lambda x: x}.get(self.name, rounded)\n"
            "        x = x if self.name == 'conv4' else rounded(x)\n"
            "        return exact(self.layer.forward(x, training))",
            "forward",
        ),
        "exact_between_layers": (
            BACKWARD,
            "        g = self.layer.backward(g)\n"
            "        self.gradients[0][:] = rounded(self.gradients[0])\n"
            "        return g",
            "gradient",
        ),
    },
    "pytorch": {
        "not_in_force": ("torch.bfloat16)(", "torch.bfloat16, enabled=False)(", "forward"),
        "float16": ("torch.bfloat16)(", "torch.float16)(", "forward"),
        "weights_too": (
            "network = module.symbol(settings, hp)",
            "network = module.symbol(settings, hp).bfloat16()",
            "data",
        ),
        "loss_too": (
            "scores: scores.float()",
            "scores: scores if network.training else scores.float()",
            "trajectory",
        ),
        "velocity_too": (
            "    return dict(configure=configure, symbol=symbol)",
            SHORT_VELOCITY,
            "gradient",
        ),
    },
    "tensorflow": {
        "not_in_force": ("{REWRITE: True}", "{REWRITE: False}", "weights"),
        "denied": (
            "on = tf.config.optimizer.get_experimental_options()[REWRITE]",
            "on = not tf.config.optimizer.set_experimental_options({REWRITE: False})",
            "forward",
        ),
        "velocity_too": ('[NOT_REWRITTEN] = "AddV2"', '[NOT_REWRITTEN] = ""', "gradient"),
    },
    "keras": KERAS,
    "mxnet": {"not_in_force": ('        amp.init("bfloat16")\n', "", "forward")},
}


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    has = metafunc.config.getoption("--shared-modules") or not proven_elsewhere(name)
    try:
        modules.check_lane(name, modules.MIXED)
    except InputError:
        has = False
    if "mixed" in metafunc.fixturenames:
        metafunc.parametrize("mixed", [name] if has else [])
    if "mistake" in metafunc.fixturenames:
        metafunc.parametrize("mistake", planted(name) if has else {})


def test_certificate(mixed):
    command = [sys.executable, "-m", "common.proof", mixed, "--lane", modules.MIXED]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True)
    print(done.stdout)
    assert done.returncode == 0


def test_what_is_not_mixed_precision_is_caught(name, mistake, threads, tmp_path):
    """In a process of its own: what turns it on is for the whole process."""
    with get_context("spawn").Pool(1) as pool:
        found = pool.apply(first_failed, (name, mistake, threads, str(tmp_path)))
    assert found == planted(name)[mistake][-1]


def planted(name):
    """The mistakes of a framework."""
    return PLANTED[frameworks.ENVIRONMENTS[name].folder]


def first_failed(name, mistake, threads, folder):
    """The first rung that fails with the mistake; empty if none does."""
    machine.limit_threads(threads)
    old, new, _ = planted(name)[mistake]
    module = modules.load(name)
    made = modules.changed(modules.load(name, modules.MIXED), [(old, new)], folder, mistake)
    cache = ReferenceCache(CNN, threads)
    certifier = Certifier(CNN, threads, cache, "bfloat16")
    certifier.take(modules.replaced(module, **made.functions(module)), modules.MIXED)
    failed = (rung for rung in certifier.rungs if not certifier.climb(rung, True)["passed"])
    found = next(failed, "")
    cache.save()
    return found

"""transformers' own networks, trained with its own loss, climb all rungs."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from common import networks
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import modules
from frameworks.pytorch.gpt import optimizer_of

MODELS = [name for name in networks.MODELS if networks.part(name, "hugging_face")]
THREADS = 2


def module_of(model, shifted_twice=False):
    """transformers' network as a module of the contract.

    shifted_twice: the targets are given as ``labels`` alone, which the loss shifts again.
    """
    files = networks.part(model.name, "hugging_face")

    def symbol(settings, hp):
        config = AutoConfig.for_model(**files.CONFIG)
        return AutoModelForCausalLM.from_config(config)

    def loss(network, settings, hp, weights):
        state = network.state_dict()  # its tied head is another name for the embedding's tensor
        for theirs, (ours, transposed) in files.names().items():
            state[theirs].copy_(torch.from_numpy(weights[ours].T if transposed else weights[ours]))
        return (network, *optimizer_of(network, settings, hp), hp.clip)

    def train(model, batches):
        network, optimizer, schedule, clip = model
        network.train()
        for x, y in batches:
            x, y = torch.from_numpy(x), torch.from_numpy(y)
            optimizer.zero_grad()
            given = {} if shifted_twice else {"shift_labels": y}
            step_loss = network(x, labels=y, **given).loss
            step_loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
            optimizer.step()
            schedule.step()
            yield step_loss.detach()

    def predict(model, x):
        network, half = model[0].eval(), x.shape[1] // 2
        with torch.inference_mode():
            x = torch.from_numpy(x)
            prompt = x[:, :half]
            new = network.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                max_new_tokens=half + 1,
                output_logits=True,
                return_dict_in_generate=True,
            )
            # The first scores of `generate` are those of the prompt's last token.
            return torch.cat([network(x).logits, torch.stack(new.logits[1:], 1)], 1).numpy()

    def weights(model):
        state = model[0].state_dict()
        return {
            ours: (state[theirs].T if transposed else state[theirs]).numpy().copy()
            for theirs, (ours, transposed) in files.names().items()
        }

    ours = modules.load("pytorch", model.name)
    return modules.replaced(
        ours, symbol=symbol, loss=loss, train=train, predict=predict, weights=weights
    )


@pytest.fixture(params=MODELS)
def model(request):
    return networks.find(request.param)


@pytest.fixture
def certifier(model):
    return Certifier(model, THREADS, ReferenceCache(model, THREADS))


def test_it_climbs_all_rungs(certifier, model):
    certificate = certifier.certify("transformers", module_of(model), "same")
    assert certificate["passed"], [rung for rung in certificate["rungs"] if not rung["passed"]]


def test_targets_that_are_shifted_twice_fail(certifier, model):
    certifier.take(module_of(model, shifted_twice=True), "same")
    assert not certifier.climb("gradient", stop_early=True)["passed"]

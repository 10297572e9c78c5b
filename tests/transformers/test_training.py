"""transformers' own networks, trained with its own loss, climb all rungs."""

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from common import networks
from common.system import modules
from frameworks.pytorch.gpt import optimizer_of
from tests.climbing import certifier, climbs_all_rungs


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


def test_it_climbs_all_rungs(model):
    climbs_all_rungs("transformers", model, module_of(model))


def test_targets_that_are_shifted_twice_fail(model):
    proof = certifier(model)
    proof.take(module_of(model, shifted_twice=True), "same")
    assert not proof.climb("gradient", stop_early=True)["passed"]

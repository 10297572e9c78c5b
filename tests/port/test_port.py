"""A port in C, written only from a challenge's page, is proven, and its mistakes are named."""

import pathlib
import subprocess

import pytest

from common.challenge import challenge
from common.system import commands

SOURCE = pathlib.Path(__file__).with_name("port.c")

MISTAKES = (
    ("= tap / 3 % 3 - 1, right = tap % 3 - 1;", "= 1 - tap / 3 % 3, right = 1 - tap % 3;"),
    ("p->value[k] += p->velocity[k];", "p->value[k] += net.momentum * p->velocity[k] - step;"),
    ("(gradient[c] / sum - (c == label)) / net.images;", "gradient[c] / sum - (c == label);"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A challenge of the CNN."""
    folder = tmp_path_factory.mktemp("challenge") / "cnn"
    assert commands.guarded(challenge.command, ["write", str(folder)]) == 0
    return folder


def verdict(folder, source):
    """The exit code of a check of the port's answer."""
    place = folder.parent
    (place / "port.c").write_text(source)
    build = "gcc -O3 -march=native -o port port.c -lopenblas -lm"
    subprocess.run(build.split(), cwd=str(place), check=True)
    answer = place / "answer.safetensors"
    subprocess.run([str(place / "port"), str(folder), str(answer)], check=True)
    return commands.guarded(challenge.command, ["check", str(folder), str(answer)])


def test_the_port_is_proven(folder, capsys):
    assert verdict(folder, SOURCE.read_text()) == 0
    assert "8 of 8 rungs proven" in capsys.readouterr().out


def test_three_mistakes_at_once_are_each_named(folder, capsys):
    source = SOURCE.read_text()
    for right, wrong in MISTAKES:
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    assert verdict(folder, source) == 3
    printed = capsys.readouterr().out
    assert "kernels are flipped" in printed
    assert "the loss is the sum over the batch" in printed
    assert "Nesterov momentum" in printed
    assert "unknown" not in printed

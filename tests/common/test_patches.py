"""Patches of source: layout does not matter, tokens do."""

import ast
import glob
import importlib
import os
import sys

import pytest

import frameworks
from common.system import modules, source
from common.system.files import ROOT
from common.system.patches import PatchError, by_file, patched, tokens
from frameworks.variants import MEMORY

LAYOUT = NEWLINE, INDENT, DEDENT = "<newline>", "<indent>", "<dedent>"  # of source.code
MODULE = '''"""Docstring."""

def train(model, batches):
    """Another one."""
    for x, y in batches:
        loss = criterion(model(x), y)  # mean
        optimizer.step(
            1e-3, 'sgd',  # plain
        )
        yield loss
'''
SAME = [
    ("step(1e-3, 'sgd',)", "layout of the module, quotes of the patch"),
    ('step(0.001, "sgd")', "trailing comma, way to write a number"),
    ("1e-3,'sgd',", "the end of a call"),
    ("step(\n1e-3,\n'sgd', # a comment\n", "layout of the patch"),
    ("y)\noptimizer.step(1e-3, 'sgd'", "two statements, parts of calls"),
]


@pytest.mark.parametrize("old, why", SAME, ids=[why for _, why in SAME])
def test_layout_does_not_matter(old, why):
    assert patched(MODULE, [(old, "new")], "m").count("new") == 1


@pytest.mark.parametrize("old", ["step(1e-4, 'sgd')", "step(1e-3, 'SGD')", "ste(", "y):", "# mean"])
def test_a_token_that_is_not_there_is_an_error(old):
    what = "frameworks/x/cnn.py, trap y"
    with pytest.raises(PatchError, match="^%s: .* is in 0 places, not in one$" % what):
        patched(MODULE, [(old, "")], what)


def test_two_places_are_an_error():
    with pytest.raises(PatchError, match="is in 2 places, not in one"):
        patched(MODULE, [("optimizer", "optimizer_of_mine"), ("batches", "")], "m")


def test_a_docstring_is_no_place():
    with pytest.raises(PatchError, match="in 0 places"):
        patched(MODULE, [('"Docstring."', "")], "m")


def test_new_lines_are_indented_like_the_statement_and_comments_of_others_stay():
    changes = [
        ("optimizer.step", "if 1:\n    pass\n\noptimizer.step"),
        ("yield loss", "loss /= 2\nyield loss"),
        ("sgd'", "'"),
    ]
    with pytest.raises(PatchError):
        patched(MODULE, changes, "m")
    expected = MODULE.replace("yield", "loss /= 2\n        yield").replace(
        "optimizer", "if 1:\n            pass\n\n        optimizer"
    )
    assert patched(MODULE, changes[:2], "m") == expected


def test_patches_are_made_in_turn():
    assert patched("f(a)", [("a", "b, c"), ("c", "d")], "m") == "f(b, d)"


def test_deleted_argument_leaves_python():
    for text in ("f(a, b=1, c=2)", "f(a, c=2, b=1)", "f(a, c=2, b=1,)"):
        assert eval(patched(text, [("b=1,", "")], "m"), {"f": dict, "a": {}}) == {"c": 2}


def files(pattern):
    """The files in the frameworks' folders, from the project's root on."""
    paths = glob.glob(os.path.join(ROOT, "frameworks", "*", pattern))
    return sorted(os.path.relpath(path, ROOT) for path in paths)


@pytest.mark.parametrize("path", files("*.py"))
def test_tokens_are_pythons(path):
    text = source.read(path)
    ours = [text[token.start : token.end] for token in tokens(text)]
    expected = [token for token in source.code(text) if token not in LAYOUT]
    # Without strings, because ``tokens`` has docstrings as well.
    ours, expected = [[t for t in tokens if t[-1:] not in "'\""] for tokens in (ours, expected)]
    assert ours == expected


# The patches of all frameworks.


def contents(kind):
    """(environments, contents) of each ``variants.py``, or ``traps.py``."""
    for path in files(kind + "*.py"):
        folder, file = path[: -len(".py")].split(os.sep)[1:]
        environments = [
            facts
            for facts in frameworks.ENVIRONMENTS.values()
            if (facts.folder, kind + facts.variant) == (folder, file)
        ]
        yield environments, importlib.import_module("frameworks.%s.%s" % (folder, file))


def all_patches():
    """(module's path, name, patches) of each lever, lesson's mistake and trap."""
    for environments, variants in contents("variants"):
        for lever in variants.LEVERS:
            yield frameworks.path(environments[0], lever.model), lever.name, lever.patches
        for name, patches in variants.LESSONS.items():
            yield frameworks.path(environments[0]), name, patches
    for environments, traps in contents("traps"):
        for trap in traps.TRAPS:
            yield frameworks.path(environments[0], trap.model), trap.name, trap.patches


def all_files():
    """As ``all_patches``, for each file that a patch is for."""
    for path, name, patches in all_patches():
        for file, its_patches in by_file(patches, path).items():
            yield file, name, its_patches


def as_written(text):
    return text


def on_long_lines(text):
    """The source without comments and docstrings, each statement on one line."""
    lines, depth, last = [""], 0, ""
    for token in source.code(text):
        if (last, token) == (INDENT, DEDENT):  # there was only a docstring
            lines[-1] = 4 * depth * " " + "pass\n"
        depth += (token == INDENT) - (token == DEDENT)
        if token == NEWLINE:
            lines.append("")
        elif token not in LAYOUT:
            lines[-1] = (lines[-1] or 4 * depth * " ") + token + " "
        last = token
    return "\n".join(lines)


def unparsed(text):
    """The source as Python writes its syntax tree, with other quotes and brackets."""
    return ast.unparse(ast.parse(text))


@pytest.mark.parametrize(
    "layout",
    [as_written] + [pytest.param(f, marks=pytest.mark.slow) for f in (on_long_lines, unparsed)],
)
def test_every_patch_fits_and_makes_python(layout):
    if layout is unparsed and sys.version_info < (3, 9):
        pytest.skip("this Python cannot write a syntax tree")
    texts, misses = {}, []
    assert len(list(all_patches())) > 400
    for path, name, patches in all_files():
        what = "%s, %s" % (path, name)
        try:
            text = texts[path] = texts.get(path) or layout(source.read(path))
            ast.parse(patched(text, patches, what))
        except PatchError as error:
            misses.append(str(error))
        except (OSError, SyntaxError) as error:
            misses.append("%s: %r" % (what, error))
    assert not misses, "%d:\n%s" % (len(misses), "\n".join(misses))


def test_names_are_unique_and_environments_known():
    """A lever or trap without a unique name could never be selected."""
    for kind, one_of in (("variants", "LEVERS"), ("traps", "TRAPS")):
        for environments, content in contents(kind):
            names = [environment.name for environment in environments]
            asked = getattr(content, one_of)
            assert {name for variant in asked for name in variant.only} <= set(names)
            for name in names:
                mine = [variant for variant in asked if name in (variant.only or names)]
                keys = [(variant.name, variant.model) for variant in mine]
                assert len(set(keys)) == len(keys), name


def test_a_folder_without_these_files_has_none(monkeypatch):
    monkeypatch.setattr(modules, "has", lambda name, model: False)
    assert list(modules.levers("numpy").values()) == MEMORY
    assert not modules.traps("numpy", "cnn")
    assert modules.lessons("numpy") == {}

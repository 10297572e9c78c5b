"""A hash of code changes with the code and with nothing else."""

import pytest

from common.system import source

CODE = '''"""A docstring."""

WORDS = {"a": 1}  # a comment
Type.__doc__ = """Its content."""


def double(x):
    """Twice x."""
    # why
    return f"{x:>{3}} times" + str(2 * x)
'''
REPHRASED = '''# another head
WORDS = {
    "a": 1
}
Type.__doc__ = "Others."
def double(x):
  """Two of x,

  in two paragraphs."""

  return (f"{x:>{3}} times" + str(2 * x))
'''


def test_comments_docstrings_and_layout_are_no_code():
    bare = [token for token in source.code(REPHRASED) if token not in "()"]
    assert bare == [token for token in source.code(CODE) if token not in "()"]


@pytest.mark.parametrize(
    "old, new",
    [("2 * x", "2 + x"), ('"a"', '"b"'), (" times", " Times"), ("{3}", "{4}"), ("x)", "y)")],
)
def test_changed_code_shows(old, new):
    assert source.code(CODE.replace(old, new)) != source.code(CODE)


def test_a_string_that_is_used_is_code():
    assert source.code('f("a")\n') != source.code('f("b")\n')
    assert source.code('x = """a"""\n') != source.code('x = """b"""\n')
    assert source.code('f"{print(1)}"\n') == ['f"{print(1)}"', "<newline>"]


def test_tokens_are_the_same_from_every_interpreter():
    assert source.code(CODE)[-8:] == ["str", "(", "2", "*", "x", ")", "<newline>", "<dedent>"]


def test_a_result_knows_its_module_by_the_code(tmp_path):
    texts = ['"""A."""\nx = 1\n', '"""B."""\nx = 1  # why\n', '"""A."""\nx = 2\n']
    paths = [tmp_path / ("%d.py" % number) for number in range(3)]
    for path, text in zip(paths, texts):
        path.write_text(text)
    first, second, third = (source.texts_sha256([path]) for path in paths)
    assert first == second != third != source.texts_sha256(paths[::-1])


def test_imports_are_followed_within_the_folders_named():
    files = source.imported(["common/system/modules.py"], ["common/system", "frameworks/numpy"])
    assert "common/system/files.py" in files and "common/system/errors.py" in files
    assert not [path for path in files if path.startswith("frameworks")]

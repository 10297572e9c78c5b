"""The library that makes a newer MKL use its fast kernels on an AMD processor."""

import ctypes
import os
import shutil

import pytest

from common.system import machine, mkl


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_without_a_compiler_there_is_none(cache, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert mkl.preloaded() == {}
    assert not list(cache.iterdir())


def test_a_compiler_that_fails_leaves_nothing(cache, tmp_path, monkeypatch):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert mkl.preloaded() == {}
    assert os.listdir(cache) == []


@pytest.mark.skipif(not any(map(shutil.which, mkl.COMPILERS)), reason="needs a C compiler")
def test_it_says_that_the_processor_is_intels(cache, monkeypatch):
    variables = mkl.preloaded()
    assert ctypes.CDLL(variables["LD_PRELOAD"]).mkl_serv_intel_cpu_true() == 1
    monkeypatch.setenv("PATH", "")
    assert mkl.preloaded() == variables  # it is built only once
    assert mkl.in_force(variables) and not mkl.in_force({"LD_PRELOAD": "libiomp5.so"})


def test_results_name_it(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/home/someone/%s" % mkl.LIBRARY)
    assert machine.environment()["cpu_switches"]["LD_PRELOAD"] == mkl.LIBRARY
    monkeypatch.setenv("LD_PRELOAD", "libiomp5.so")
    assert "LD_PRELOAD" not in machine.environment()["cpu_switches"]

"""A container's quota, from made-up control groups."""

import pytest

from common.system import cgroup, machine


@pytest.fixture
def group(tmp_path):
    """A function that writes files of control groups; returns ``cgroup.cpus``' arguments."""

    def write(membership, files):
        for path, text in files.items():
            file = tmp_path / "mount" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (tmp_path / "membership").write_text(membership)
        return str(tmp_path / "mount"), str(tmp_path / "membership")

    return write


def test_a_quota_of_version_2(group):
    assert cgroup.cpus(*group("0::/\n", {"cpu.max": "150000 100000\n"})) == 1.5


def test_no_quota(group):
    assert cgroup.cpus(*group("0::/\n", {"cpu.max": "max 100000\n"})) is None
    assert cgroup.cpus("/nowhere", "/nowhere") is None


def test_the_smallest_quota_above_a_process_counts(group):
    quotas = {"a/b/cpu.max": "max 100000", "a/cpu.max": "100000 100000", "cpu.max": "400000 100000"}
    assert cgroup.cpus(*group("0::/a/b\n", quotas)) == 1


def test_a_container_that_sees_the_hosts_path(group):
    assert cgroup.cpus(*group("0::/docker/0af3\n", {"cpu.max": "200000 100000"})) == 2


@pytest.mark.parametrize("quota, cpus", [("50000", 0.5), ("-1", None)])
def test_a_quota_of_version_1(group, quota, cpus):
    folder = "cpu,cpuacct/box/"
    files = {folder + "cpu.cfs_quota_us": quota, folder + "cpu.cfs_period_us": "100000"}
    assert cgroup.cpus(*group("4:memory:/box\n3:cpu,cpuacct:/box\n", files)) == cpus


def test_a_folder_of_version_1_that_lists_its_controllers_in_another_order(group):
    files = {"cpu/box/cpu.cfs_quota_us": "50000", "cpu/box/cpu.cfs_period_us": "100000"}
    assert cgroup.cpus(*group("3:cpuacct,cpu:/box\n", files)) == 0.5


def test_the_time_for_which_a_quota_stopped_a_group(group):
    def seconds(line, inner=None):
        files = {"a/cpu.stat": "usage_usec 5\n" + line}
        files.update({"a/b/cpu.stat": inner} if inner else {})
        return cgroup.throttled(*group("0::/a/b\n", files))

    assert cgroup.stopped({}, seconds("throttled_usec 2500000")) == 2.5
    older = cgroup.throttled(*group("1:cpu:/\n", {"cpu/cpu.stat": "throttled_time 10"}))
    assert cgroup.stopped({}, older) == 1e-8
    assert cgroup.stopped({}, {}) == 0
    before = seconds("throttled_usec 9000000", "throttled_usec 0")
    after = seconds("throttled_usec 9000000", "throttled_usec 3000000")
    assert cgroup.stopped(before, after) == 3


@pytest.mark.parametrize("quota, cores", [(None, 8), (1.0, 1), (1.5, 2), (0.3, 1), (16.0, 8)])
def test_cores_are_counted_by_the_quota(quota, cores, monkeypatch):
    monkeypatch.setattr(machine, "allowed_cores", lambda: list(range(8)))
    monkeypatch.setattr(cgroup, "cpus", lambda: quota)
    assert machine.usable_cores() == cores

"""What failed and is on record is shown as failed."""

import json

from common import networks
from common.records.records import FRESH, MISTAKES, Proof
from reports import tables, wall
from reports.table import CHANGED

CNN = networks.find("cnn")


def planted(folder, monkeypatch, rung):
    pair = ["gradient", rung]
    record = {
        "outside": {"scaled": pair},
        "own": {"trap": pair},
        "false_alarms": {"same": ["data"]},
    }
    (folder / "numpy-cnn.json").write_text(json.dumps(record))
    monkeypatch.setattr(Proof, "state", lambda proof: FRESH)
    monkeypatch.setattr(tables, "PLANTED", folder)
    return tables.mistakes(CNN).rows, tables.own_mistakes(CNN).rows


def test_a_missed_mistake_is_shown(tmp_path, monkeypatch):
    shared, own = planted(tmp_path, monkeypatch, "gradient")
    assert shared == [["scaled", "gradient"]]
    assert own == [["numpy", "2 of 2", "same", "trap (gradient)"]]
    shared, own = planted(tmp_path, monkeypatch, None)
    assert shared == [["scaled", "MISSED"]]
    assert own == [["numpy", "0 of 2", "same", "trap (MISSED)"]]


def test_weights_that_did_not_arrive_are_shown(tmp_path, monkeypatch):
    def cells(error):
        record = {
            "steps": 1,
            "observations": 2,
            "frameworks": {"a": {"tolerance": 1e-3, "files": [".npz"]}},
            "takers": {"a": {"a": {"error": error, "largest_difference": 0.5}}},
        }
        (tmp_path / "cnn.json").write_text(json.dumps(record))
        (row,) = tables.exchanged(CNN).rows
        return row[2:]

    monkeypatch.setattr(tables, "EXCHANGES", tmp_path)
    assert cells(1e-4) == ["5.0e-01"]
    assert cells(1e-2) == cells(float("nan")) == ["OFF 5.0e-01"]


def test_mistakes_are_marked_if_a_later_proof_failed(monkeypatch, tmp_path):
    proof = Proof(MISTAKES, "numpy", "cnn", "same")
    monkeypatch.setattr(Proof, "made_on", lambda self, device: str(tmp_path / "numpy-cnn.json"))
    monkeypatch.setattr(tables, "PLANTED", tmp_path)
    result = {"outside": {"a": ["data", "data"]}, "own": {}, "false_alarms": {}}
    proof.write(result, proof.rests_on(), 1)
    assert tables.own_mistakes(CNN).rows[0][0] == "numpy"
    proof.doubt()
    table = tables.own_mistakes(CNN)
    assert table.rows[0][0] == "numpy †" and CHANGED in table.explained


def test_a_certificate_with_a_failed_rung_is_no_green_brick(monkeypatch):
    def brick(passed):
        rungs = [{"passed": True}, {"passed": passed}]
        monkeypatch.setattr(Proof, "read", lambda proof: {"rungs": rungs, "made": "2026-01-01"})
        return wall._brick("numpy", "cnn", "same")

    assert brick(False).kind == "no" and "1 of 2 rungs" in brick(False).says
    assert brick(True).kind != "no" and "2 of 2 rungs" in brick(True).says

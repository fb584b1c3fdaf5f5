"""Requests: the same fits and the same refusals as the command gives. The cases are shared with its tests."""

import csv
import io
import json
import pathlib
import re

import numpy as np
import pytest

import dmci

CASES = json.loads(
    (pathlib.Path(__file__).parents[3] / "crates/dmci-fit/tests/requests.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("requests")
    for name, text in CASES["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def summary(fit):
    data = json.loads(fit.to_json())
    return {
        "parameters": data["parameters"],
        "loss": data["loss"],
        "held_out": data["held_out"],
        "optimizer": data["optimizer"]["name"],
        "stopped": data["stopped"],
        "evaluations": data["evaluations"],
        "warnings": [w["code"] for w in data["warnings"]],
    }


def spelled(message):
    """Settings as keywords."""
    renamed = {"set": "constants=", "output_limit": "output="}

    def one(match):
        name, _, value = match.group(1).partition(" ")
        if not value:
            return renamed.get(name, f"{name}=")
        return f"{name}={value if re.fullmatch(r'[-0-9.]+', value) else json.dumps(value)}"

    return re.sub("‹([^›]*)›", one, message)


def columns(name):
    """The columns of a table, as somebody would read them in Python."""
    rows = list(csv.reader(io.StringIO(CASES["files"][name])))
    table = {}
    for head, *fields in zip(*rows):
        try:
            table[head] = np.array([int(f) for f in fields])
        except ValueError:
            try:
                table[head] = np.array([np.nan if f == "NA" else float(f) for f in fields])
            except ValueError:
                table[head] = fields
    return table


def keywords(request):
    """The keywords of Model.fit that say the same as a request."""
    settings = {k: v for k, v in request.items() if k not in ("program", "text", "data", "target")}
    if "missing" in settings:
        settings["missing"] = True
    target = request.get("target")
    return {"target": ",".join(target) if target else None, "data_name": request["data"], **settings}


@pytest.mark.parametrize("case", CASES["good"], ids=lambda case: json.dumps(case["request"])[:80])
def test_requests_give_the_fits_that_the_command_gives(case, folder, monkeypatch):
    monkeypatch.chdir(folder)
    request = case["request"]
    assert summary(dmci.fit(request, progress=False)) == case["fit"]
    if "program" in request:
        model = dmci.Model(dmci.load(request["program"]))
        fit = model.fit(columns(request["data"]), progress=False, **keywords(request))
        assert summary(fit) == case["fit"]


@pytest.mark.parametrize("case", CASES["bad"], ids=lambda case: json.dumps(case["request"])[:80])
def test_requests_are_refused_as_by_the_command(case, folder, monkeypatch):
    monkeypatch.chdir(folder)
    request = case["request"]
    with pytest.raises(dmci.Error) as refused:
        dmci.fit(request, progress=False)
    assert (refused.value.code, refused.value.message) == (case["code"], spelled(case["message"]))
    model = dmci.Model(dmci.load(request["program"]))
    with pytest.raises(dmci.Error) as refused:
        model.fit(columns(request["data"]), progress=False, **keywords(request))
    assert (refused.value.code, refused.value.message) == (case["code"], spelled(case["message"]))


def test_files_of_requests(folder, tmp_path):
    text = f"program = 'decay.scm'\ndata = 'rows.csv'\ntarget = ['y']\nout = {json.dumps(str(tmp_path / 'fit.json'))}\n"
    (folder / "fit.toml").write_text(text)
    fit = dmci.fit(folder / "fit.toml", restarts=2, write=str(tmp_path / "new.scm"), plot=str(tmp_path / "fit.svg"))
    assert fit.data["optimizer"]["restarts"] == 2
    assert json.loads((tmp_path / "fit.json").read_text()) == json.loads(fit.to_json())
    assert dmci.load(tmp_path / "new.scm").parameters[0].start == fit["a"]
    assert (tmp_path / "fit.svg").read_text().startswith("<svg")
    again = dmci.fit(folder / "fit.toml", start_from=str(tmp_path / "fit.json"))
    assert again.start_loss == fit.loss
    with pytest.raises(dmci.SettingError, match="did you mean holdout=?"):
        dmci.fit(folder / "fit.toml", hodlout=0.3)

import json
import os
import pickle
import signal
import subprocess
import threading
import time
import venv

import numpy as np
import pytest

import dmci

RNG = np.random.default_rng(5)
X = RNG.uniform(0.2, 4.0, 120)
Z = RNG.uniform(0.0, 2.0, 120)
LAW = {"x": X, "z": Z, "y": 3.0 * X / (0.5 + X) + Z}


def test_a_law_is_found():
    found = dmci.search(LAW, "y", operations=["+", "*", "/"], evaluations=2500, time_limit=600)
    assert found.finding == "found", found.verdict
    assert found.best.sealed_rmse < 1e-6 and found.best.nodes <= 15
    assert [f.nodes for f in found.front] == sorted(f.nodes for f in found.front)
    np.testing.assert_allclose(found.predict({"x": [1.0], "z": [2.0]}), [4.0], rtol=1e-6)
    assert found.verdict in found.summary() and not found.interrupted
    assert json.loads(found.to_json())["schema"] == "dmci-search-1"
    assert "<table>" in found._repr_html_() and "found" in repr(found)
    again = pickle.loads(pickle.dumps(found))
    assert again.best.formula == found.best.formula and again.verdict == found.verdict
    # What was found is a program like any other.
    fit = dmci.Model(found.best.program).fit(LAW, "y")
    assert fit.rmse < 1e-6


def test_threads_and_kinds_of_tables_change_nothing(tmp_path):
    options = dict(operations="+ * / exp", evaluations=1200, time_limit=600, seed=3)
    first = dmci.search(LAW, "y", threads=1, **options)
    path = tmp_path / "rows.csv"
    rows = zip(*LAW.values())
    path.write_text("x,z,y\n" + "".join(",".join(repr(float(v)) for v in row) + "\n" for row in rows))
    second = dmci.search(path, "y", threads=2, **options)
    plain = [{k: v for k, v in f.data.items() if k != "seconds"} for f in (first, second)]
    assert plain[0] == plain[1]


def test_a_front_is_a_frame():
    pandas = pytest.importorskip("pandas")
    found = dmci.search(pandas.DataFrame(LAW), "y", operations="+ *", evaluations=300, time_limit=600)
    frame = found.to_pandas()
    assert list(frame.nodes) == [f.nodes for f in found.front] and "program" in frame.columns


def test_weights_sealed_rows_and_baselines(tmp_path):
    sealed = np.arange(120) >= 90
    line = "(params (a free 1.0) (b free 0.0)) (+ b (* a x))"
    found = dmci.search(
        LAW, "y", operations="+ *", evaluations=300, sealed=sealed, weights=np.ones(120), baselines=[line], time_limit=600
    )
    assert found.data["rows"] == {"fitted": 90, "folds": 5, "sealed": 30}
    assert len(found.baselines) == 3
    found.report(tmp_path / "page.html")
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_what_is_wrong_is_said():
    with pytest.raises(dmci.Error, match="frob"):
        dmci.search(LAW, "y", operations="+ frob")
    with pytest.raises(dmci.Error, match="w"):
        dmci.search(LAW, "w")
    with pytest.raises(dmci.Error, match="speed"):
        dmci.search(LAW, "y", speed=3)
    with pytest.raises(dmci.Error, match="inputs="):
        dmci.search(LAW, "y", inputs=["y"])
    with pytest.raises(ZeroDivisionError):
        dmci.search(LAW, "y", callback=lambda now: 1 / 0, time_limit=30)


def test_a_callback_and_control_c_end_a_search_with_the_best_so_far():
    noisy = {**LAW, "y": LAW["y"] + 0.1 * RNG.standard_normal(120)}
    seen = []

    def enough(now):
        seen.append(now)
        return now.hypotheses > 100

    found = dmci.search(noisy, "y", time_limit=60, callback=enough)
    assert found.interrupted and found.front and seen[-1].hypotheses > 100
    began = time.monotonic()
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    found = dmci.search(noisy, "y", time_limit=60)
    assert found.interrupted and found.front and "interrupted" in found.summary()
    assert time.monotonic() - began < 20


@pytest.mark.long
def test_a_search_from_the_wheel_in_an_empty_environment(tmp_path):
    wheel = os.environ.get("DMCI_WHEEL")
    if not wheel:
        pytest.skip("DMCI_WHEEL names no wheel")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    subprocess.check_call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel])
    code = """
import dmci, numpy as np
rng = np.random.default_rng(1)
x, t = rng.uniform(0.2, 4, 200), rng.uniform(0, 3, 200)
y = 3.5 * x / (0.8 + x) * np.exp(-0.3 * t) + 0.01 * rng.standard_normal(200)
found = dmci.search({"x": x, "t": t, "y": y}, "y", time_limit=20)
print(found.finding, found.best.sealed_rmse < 0.02)
"""
    assert subprocess.check_output([python, "-c", code], text=True).split() == ["found", "True"]


def test_units_rule_out_what_cannot_agree():
    t = np.linspace(1.0, 3.0, 40)
    g = np.tile([2.0, 3.0, 5.0, 7.0], 10)
    data = {"t": t, "g": g, "s": 0.5 * g * t * t}
    units = {"t": "s", "g": "m/s^2", "s": "m"}
    found = dmci.search(data, "s", units=units, constants="pure", evaluations=300)
    assert found.best.rmse < 1e-9, found.best
    with pytest.raises(dmci.Error, match="metr is not a unit"):
        dmci.search(data, "s", units={"t": "metr"}, evaluations=10)

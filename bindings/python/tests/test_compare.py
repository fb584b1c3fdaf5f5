"""Several models of the same rows, a model as a forecaster, and what a fit says about its parameters."""

import numpy as np
import pytest

import dmci

X = np.linspace(0.1, 4.0, 60)
DATA = {"x": X, "y": 3.0 * X / (0.5 + X) + 0.02 * np.cos(37.0 * X)}
SATURATION = dmci.Program("(params (a positive 1.0) (b positive 1.0)) (/ (* a x) (+ b x))", "saturation")


def test_models_are_compared():
    found = dmci.compare({"saturation": SATURATION, "line": "a + b*x"}, DATA, "y", cv=5)
    assert found.best.name == "saturation" and found.best.p is None
    line = found.models[1]
    assert line.name == "line" and line.p < 0.01 and line.unseen_rmse > 5 * found.best.unseen_rmse
    assert found.best.criteria["weight"] > 0.999 and "saturation" in found.conclusion
    fit = dmci.Model(SATURATION).fit(DATA, "y")
    again = dmci.compare([fit, dmci.Model(SATURATION, params={"a": 2.0, "b": 0.1})], DATA, "y")
    assert again.models[0].loss == pytest.approx(fit.loss, rel=1e-9)
    assert again.models[0].criteria["aicc"] == pytest.approx(fit.aicc, rel=1e-9)
    with pytest.raises(dmci.Error, match="did you mean"):
        dmci.compare([SATURATION], DATA, "y", los="mae")


def test_forecasts_are_scored():
    t = np.arange(40.0)
    data = {"t": t, "y": 10.0 + 0.3 * t + 0.1 * np.sin(9.0 * t)}
    found = dmci.forecast("a + b*t", data, "y", time="t", origins="20:35:1", horizons=[1, 3], baselines=["persistence", "ar:2"])
    assert found.rmse() < 0.12 < found.rmse("persistence", 3)
    assert found.rmse(horizon=1) > 0.0 and found.svg.startswith("<svg") and "persistence" in found.csv
    with pytest.raises(KeyError, match="forecasters are"):
        found.rmse("climatology")
    with pytest.raises(dmci.Error, match="no baseline"):
        dmci.forecast("a + b*t", data, "y", time="t", origins="20:35:1", baselines="naive")


def test_a_fit_has_covariance_and_criteria():
    x = np.linspace(-1.0, 1.0, 40)
    y = 1.0 + 2.0 * x + 0.1 * np.sin(17.0 * x)
    fit = dmci.Model("(params (a free 0.0) (b free 0.0)) (+ a (* b x))").fit({"x": x, "y": y}, "y")
    design = np.stack([np.ones_like(x), x], axis=1)
    beta, squares = np.linalg.lstsq(design, y, rcond=None)[:2]
    expected = np.linalg.inv(design.T @ design) * squares[0] / 38
    assert fit.uncertain == ["a", "b"]
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(np.diag(fit.correlations), 1.0)
    likelihood = -20.0 * (np.log(2 * np.pi * squares[0] / 40) + 1)
    assert fit.aic == pytest.approx(6 - 2 * likelihood) and fit.bic == pytest.approx(3 * np.log(40) - 2 * likelihood)
    assert fit.chi_square is None and "99" in fit.conclusion
    known = dmci.Model("(params (a free 0.0)) a").fit({"y": y}, "y", sigma=np.full(40, 2.0))
    assert known.chi_square["freedom"] == 39.0
    wide = dmci.Model("(params (a free 0.0) (b free 0.0)) (+ a (* b x))").fit({"x": x, "y": y}, "y", intervals="profile")
    drawn = dmci.Model("(params (a free 0.0) (b free 0.0)) (+ a (* b x))").fit({"x": x, "y": y}, "y", bootstrap=100)
    for other in (wide, drawn):
        assert other.intervals["b"][0] < 2.0 < other.intervals["b"][1]


def test_targets_are_a_list():
    x = np.linspace(0.0, 1.0, 20)
    model = dmci.Model("(params (a free 0.5)) (list (* a x) (* a a x))", outputs=2)
    fit = model.fit({"x": x, "u": 2.0 * x, "v": 4.0 * x}, ["u", "v"])
    assert fit["a"] == pytest.approx(2.0)
    told = fit.predict({"x": [1.0]}, interval="confidence")
    assert told.targets == ["u", "v"] and told.value.shape == (1, 2)

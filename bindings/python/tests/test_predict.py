import numpy as np
import pytest

import dmci
from dmci import Model

DECAY = "(params (a positive 1.0) (b positive 1.0)) (* a (exp (- (* b t))))"
T = np.linspace(0.0, 4.0, 12)
Y = 2.5 * np.exp(-0.7 * T) + 0.05 * np.random.default_rng(3).standard_normal(12)
#: Student's quantile of 0.975 with 10 degrees of freedom, from tables.
QUANTILE = 2.2281388519649385


def test_intervals_are_those_of_the_delta_method(tmp_path):
    fit = Model(DECAY).fit({"t": T, "y": Y}, "y", out=str(tmp_path / "fit.json"))
    new = np.array([0.5, 2.0, 3.5])

    def slopes(t):
        return np.stack([np.exp(-fit["b"] * t), -fit["a"] * t * np.exp(-fit["b"] * t)], axis=-1)

    noise = np.sum((Y - fit["a"] * np.exp(-fit["b"] * T)) ** 2) / 10
    covariance = noise * np.linalg.inv(slopes(T).T @ slopes(T))
    error = np.sqrt(np.einsum("ri,ij,rj->r", slopes(new), covariance, slopes(new)))
    found = fit.predict({"t": new}, interval=["confidence", "prediction"])
    np.testing.assert_allclose(found.value, fit.predict({"t": new}))
    np.testing.assert_allclose(found.error, error, rtol=1e-6)
    for (low, high), deviation in ((found.confidence, error), (found.prediction, np.hypot(error, noise**0.5))):
        np.testing.assert_allclose(low, found.value - QUANTILE * deviation, rtol=1e-6)
        np.testing.assert_allclose(high, found.value + QUANTILE * deviation, rtol=1e-6)
    assert found.level == 0.95 and not found.warnings
    wide = fit.predict({"t": new}, interval="prediction", level=0.99)
    assert wide.confidence is None and (wide.prediction[0] < found.prediction[0]).all()
    again = dmci.predict(tmp_path / "fit.json", at="t=0.5,2,3.5")
    np.testing.assert_array_equal(again.prediction[1], found.prediction[1])


def test_what_cannot_be_predicted_is_refused():
    fit = Model(DECAY).fit({"t": T, "y": Y}, "y", loss="mae", optimizer="cma")
    assert dmci.predict(fit, {"t": T}).error is None
    with pytest.raises(dmci.Error, match="no intervals"):
        fit.predict({"t": T}, interval="confidence")
    with pytest.raises(dmci.Error, match="level= must be a number between 0 and 1"):
        fit.predict({"t": T}, level=95)
    with pytest.raises(TypeError, match="data= or at="):
        dmci.predict(fit)


def test_groups_and_several_targets():
    group = np.repeat(["north", "south"], 12)
    t, y = np.tile(T, 2), np.concatenate([Y, 2 * Y])
    program = "(params (a positive 1.0 (per site)) (b positive 1.0)) (* a (exp (- (* b t))))"
    fit = Model(program).fit({"t": t, "y": y, "site": list(group)}, "y")
    found = dmci.predict(fit, at="t=1")
    assert found.value.shape == (2,) and found.value[1] == pytest.approx(2 * found.value[0], rel=0.1)
    fit = Model("(params (a free 1.0)) (list (* a t) (* 2 a t))", outputs=2).fit({"t": T, "u": T, "v": 2.1 * T}, "u,v")
    both = dmci.predict(fit, {"t": T[1:3]})
    assert both.targets == ["u", "v"] and both.value.shape == (2, 2) and both.confidence[0].shape == (2, 2)

import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest

import dmci
from dmci import Model

DECAY = "(params (a positive 2.0) (b positive 0.5)) (* a (exp (- (* b t))))"
T = np.linspace(0.0, 2.0, 5)


def test_predictions():
    m = Model(DECAY)
    assert (m.params, m.inputs, m.size) == (["a", "b"], ["t"], 2)
    np.testing.assert_allclose(m(t=T), 2 * np.exp(-0.5 * T))
    np.testing.assert_allclose(m([3.0, 1.0], t=T), 3 * np.exp(-T))
    np.testing.assert_allclose(m(t=T, a=3.0), 3 * np.exp(-0.5 * T))
    assert isinstance(m(t=1.0), float) and m(t=0.0) == 2.0


def test_sets_and_rows_broadcast():
    m = Model(DECAY)
    theta = np.array([[2.0, 0.5], [3.0, 1.0], [1.0, 0.1]])
    v, g = m.value_and_grad(theta, {"t": T})
    assert v.shape == (3, 5) and g.shape == (3, 5, 2)
    np.testing.assert_allclose(v, theta[:, :1] * np.exp(-theta[:, 1:] * T))
    np.testing.assert_allclose(g[..., 0], np.exp(-theta[:, 1:] * T))
    np.testing.assert_allclose(g[..., 1], -theta[:, :1] * T * np.exp(-theta[:, 1:] * T))
    v4, g4 = m.value_and_grad(theta.reshape(3, 1, 2), {"t": T})
    assert v4.shape == (3, 1, 5) and np.array_equal(v4[:, 0], v)
    s, gs = m.value_and_grad(theta, {"t": T}, reduce="sum")
    np.testing.assert_allclose(s, v.sum(1))
    np.testing.assert_allclose(gs, g.sum(1))
    np.testing.assert_allclose(m.value(theta, {"t": T}, reduce="mean"), v.mean(1))
    pv, pg = m.value_and_grad(theta, {"t": T[:3]}, paired=True)
    np.testing.assert_array_equal(pv, np.diagonal(v[:, :3]))
    assert pg.shape == (3, 2)
    h = m.hessian(theta, {"t": T})
    assert h.shape == (3, 5, 2, 2)
    np.testing.assert_allclose(h[..., 0, 1], -T * np.exp(-theta[:, 1:] * T))
    np.testing.assert_array_equal(h, np.swapaxes(h, -1, -2))


def test_results_go_into_arrays_of_the_caller():
    m = Model(DECAY)
    rows = m.bind({"t": T})
    theta = np.array([3.0, 1.0])
    out = (np.empty(5), np.empty((5, 2)))
    assert m.value_and_grad(theta, rows, out=out) is out
    v, g = m.value_and_grad(theta, {"t": T})
    assert np.array_equal(out[0], v) and np.array_equal(out[1], g)
    with pytest.raises(ValueError, match="room for 5"):
        m.value_and_grad(theta, rows, out=(np.empty(4), np.empty((5, 2))))
    with pytest.raises(TypeError, match="contiguous array of float64"):
        m.value_and_grad(theta, rows, out=(np.empty(5, np.float32), np.empty((5, 2))))
    with pytest.raises(TypeError, match="contiguous array of float64"):
        m.value_and_grad([3.0, 1.0], rows, out=out)
    frozen = np.empty(5)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="array for values"):
        m.value_and_grad(theta, rows, out=(frozen, np.empty((5, 2))))
    total = (np.empty(()), np.empty(2))
    m.value_and_grad(theta, rows, reduce="sum", out=total)
    assert total[0] == pytest.approx(v.sum())


def test_single_precision():
    m = Model(DECAY, dtype=np.float32)
    v, g = m.value_and_grad(np.array([2.0, 0.5], np.float32), {"t": T.astype(np.float32)})
    assert v.dtype == np.float32 and g.dtype == np.float32
    np.testing.assert_allclose(v, 2 * np.exp(-0.5 * T), rtol=3e-7)
    assert not np.array_equal(v.astype(float), Model(DECAY)(t=T)), "it is rounded"
    with pytest.raises(ValueError, match="float64 or float32"):
        Model(DECAY, dtype=int)


def test_columns_of_many_kinds():
    m = Model("(* k (list-ref '(1.0 10.0 100.0) i))", params={"k": 2.0})
    np.testing.assert_array_equal(m(i=np.array([0, 2, 1])), [2.0, 200.0, 20.0])
    m = Model("(if (string=? kind \"a\") (* k x) (- x))", params=["k"])
    np.testing.assert_array_equal(m([3.0], x=np.ones(3), kind=["a", "b", "a"]), [3.0, -1.0, 3.0])
    m = Model("(* k (apply + xs))", params={"k": 2})
    np.testing.assert_array_equal(m(xs=[[1.0, 2.0], [3.0], []]), [6.0, 6.0, 0.0])
    m = Model("(* k (dot w x))", params={"k": 1.0, "w": np.array([1.0, 2.0])})
    assert m.names == ["k", "w.0", "w.1"]
    np.testing.assert_array_equal(m(x=np.array([[1.0, 1.0], [2.0, 0.0]])), [3.0, 2.0])
    np.testing.assert_array_equal(m.grad(None, {"x": np.array([[1.0, 4.0]])}), [[9.0, 1.0, 4.0]])
    m = Model("(* k (det a))", params={"k": 2.0})
    np.testing.assert_allclose(m(a=np.array([np.eye(2), 2 * np.eye(2)])), [2.0, 8.0])
    m = Model("(+ k x y)", params={"k": 1.0})
    np.testing.assert_array_equal(m(x=T, y=1.0), 2.0 + T), "one value for all rows"


def test_outputs_of_several_numbers():
    m = Model("(list (* a x) (+ a x))", params={"a": 3.0}, outputs=2)
    v, g = m.value_and_grad([3.0], {"x": [1.0, 2.0]})
    assert v.tolist() == [[3.0, 4.0], [6.0, 5.0]] and g.tolist() == [[[1.0], [1.0]], [[2.0], [1.0]]]


def test_branches_of_rows_are_recorded_once():
    m = Model("(if (< x 1.0) (* a x) (* a x x))", params={"a": 3.0})
    np.testing.assert_array_equal(m(x=[0.5, 2.0, 4.0]), [1.5, 12.0, 48.0])
    assert m.statistics["recordings"] == 1


def test_mistakes_are_told():
    m = Model(DECAY)
    with pytest.raises(KeyError, match="no column t"):
        m.value([1.0, 1.0], {"x": T})
    with pytest.raises(ValueError, match="2 numbers on its last axis"):
        m.value([1.0], {"t": T})
    with pytest.raises(ValueError, match="differ in length"):
        Model("(+ k x y)", params=["k"])([1.0], x=T, y=T[:2])
    with pytest.raises(KeyError, match="no parameter c"):
        m.value({"c": 1.0}, {"t": T})
    with pytest.raises(ValueError, match="another model"):
        m.value([1.0, 1.0], Model(DECAY).bind({"t": T}))


def test_a_row_that_fails_raises_or_is_nan():
    m = Model("(if (< x 0.0) (error \"negative:\" x) (* a x))", params={"a": 2.0})
    with pytest.raises(dmci.RunError, match="negative: -1"):
        m(x=[1.0, -1.0])
    v = m.value(None, {"x": [1.0, -1.0, 3.0]}, errors="nan")
    np.testing.assert_array_equal(v, [2.0, np.nan, 6.0])


def test_models_are_pickled():
    m = pickle.loads(pickle.dumps(Model(DECAY, dtype="float32", constants={"c": 1.0})))
    assert m.dtype == np.float32 and m.constants == {"c": 1.0}
    m = Model(DECAY)
    objective = pickle.loads(pickle.dumps(m.objective({"t": T, "y": T}, "y")))
    assert objective(m.start)[0] == m.objective({"t": T, "y": T}, "y")(m.start)[0]


def test_frames_by_column():
    pandas = pytest.importorskip("pandas")
    m = Model(DECAY)
    frame = pandas.DataFrame({"t": T, "site": list("abcde")})
    np.testing.assert_array_equal(m.value(None, frame), m(t=T))
    site = Model("(if (string=? site \"a\") k (* k t))", params={"k": 2.0})
    np.testing.assert_array_equal(site.value(None, frame), [2.0, *(2 * T[1:])])


def test_polars_and_xarray():
    m = Model(DECAY)
    if polars := pytest.importorskip("polars"):
        np.testing.assert_array_equal(m.value(None, polars.DataFrame({"t": T})), m(t=T))
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({"x": (("site", "t"), np.arange(10.0).reshape(2, 5))}, coords={"t": T})
    found = Model("(+ k (* 100 t) x)", params={"k": 0.5}).value(None, data)
    np.testing.assert_allclose(found, (0.5 + 100 * T + np.arange(10.0).reshape(2, 5)).ravel())


def test_scipy_minimises_an_objective():
    optimize = pytest.importorskip("scipy.optimize")
    m = Model(DECAY)
    data = {"t": T, "y": 3.0 * np.exp(-0.8 * T)}
    objective = m.objective(data, "y")
    found = optimize.minimize(objective, m.start, jac=True)
    np.testing.assert_allclose(found.x, [3.0, 0.8], atol=1e-4)
    found = optimize.minimize(objective, m.start, jac=True, method="L-BFGS-B", bounds=objective.bounds)
    np.testing.assert_allclose(found.x, [3.0, 0.8], atol=1e-3)
    found = optimize.least_squares(objective.residuals, m.start, jac=objective.jacobian)
    np.testing.assert_allclose(found.x, [3.0, 0.8], atol=1e-8)
    own = Model("(params (x free 3.0) (y free 1.0)) (+ (square (- 1 x)) (* 100 (square (- y (* x x)))))")
    found = optimize.minimize(own.objective(), own.start, jac=True, method="BFGS")
    np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-4)


def test_threads_share_a_model():
    m = Model("(params (a free 1.5)) (let loop ((i 0) (s x)) (if (> s 100.0) (+ s i) (loop (+ i 1) (* a s))))")
    x = np.linspace(1.0, 50.0, 400)
    expected = [Model(m.program).value_and_grad([a], {"x": x}) for a in (1.2, 1.5, 2.0, 3.0)]
    rows, wrong = m.bind({"x": x}), []

    def work(k):
        for _ in range(30):
            v, g = m.value_and_grad([(1.2, 1.5, 2.0, 3.0)[k]], rows)
            if not (np.array_equal(v, expected[k][0]) and np.array_equal(g, expected[k][1])):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_control_c_stops_an_evaluation():
    m = Model("(let loop ((i 0)) (if (< i 1e15) (loop (+ i a)) (* a x)))", params={"a": 1.0}, loops=False)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        m(x=1.0)
    assert m([1e15], x=2.0) == 2e15, "it can be used again"


def test_models_leave_no_memory_behind():
    resource = pytest.importorskip("resource")

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def create(count):
        for i in range(count):
            Model("(* a (+ x %d))" % (i % 100), params={"a": 2.0}, inputs=["x"])(x=1.0)

    import os

    count = 100_000 if os.environ.get("DMCI_LONG") else 3_000
    create(1000)
    before = peak()
    create(count)
    assert peak() - before < 30, f"{peak() - before} MB more after {count} models"
    if sys.platform == "linux":
        assert threading.active_count() < 10


def test_the_lock_of_the_interpreter_is_released():
    m = Model("(let loop ((i 0) (s x)) (if (= i 3000) s (loop (+ i 1) (+ (* a s) (sin s)))))", params={"a": 0.9}, threads=1)
    rows = m.bind({"x": np.linspace(0.0, 1.0, 2000)})
    m.value_and_grad([0.9], rows)
    for _ in range(8):
        worker = threading.Thread(target=m.value_and_grad, args=([0.9], rows))
        began = last = time.perf_counter()
        longest = 0.0
        worker.start()
        while worker.is_alive():
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
            time.sleep(0.0001)
        took = time.perf_counter() - began
        # With the lock held, this thread would stand still for all of the call.
        if longest < 0.5 * took:
            break
        # A busy machine lets nobody run now and then, and a fast one needs more rows than a glance takes.
        rows = m.bind({"x": np.linspace(0.0, 1.0, 2 * len(rows))})
    else:
        pytest.fail(f"this thread stood still for {longest} of {took} s")


def test_formulas_are_models():
    t = np.linspace(0.5, 6.0, 40)
    data = {"t": t, "y": 19.0 * (1 - np.exp(-0.5 * t))}
    model = dmci.Model.formula("y ~ A*(1 - exp(-k*t))", data, start={"A": 10.0}, where="k > 0")
    assert model.target == "y"
    fit = model.fit(data)
    np.testing.assert_allclose(fit.theta, [19.0, 0.5], rtol=1e-6)
    with pytest.raises(dmci.Error, match="did you mean time_days"):
        dmci.Model.formula("a*time_dayz", inputs=["time_days"])
    with pytest.raises(dmci.Error, match="infix notation"):
        dmci.Model("A*(1-exp(-k*t))")


def test_a_request_may_have_a_formula(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("x,y\n1,1\n2,4.1\n3,8.9\n4,16.2\n")
    fit = dmci.fit({"formula": "log(y) ~ a + b*log(x)", "data": str(table)})
    assert abs(fit["b"] - 2.0) < 0.05

"""Every export is executed and compared with our own values and gradients, off the recorded path too."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import dmci
from conftest import corpus
from dmci import Model

# Name, program, parameters, a row that is recorded, more rows, and rows that nobody has recorded.
CASES = {
    "closed": ("(* a (exp (- (* b x))))", {"a": 2.0, "b": 0.5}, [0.5], [0.0, 1.0, 3.0], []),
    "join": ("(if (< x 1.0) (* a x x) (- (* b x) (log x)))", {"a": 2.0, "b": 0.5}, [0.5], [0.9, 1.0, 4.0], []),
    "dead arm": ("(if (> x 0.0) (* a (sqrt x)) (* b x))", {"a": 2.0, "b": 0.5}, [0.5], [0.0, -1.0, 4.0], []),
    "loop": (
        "(let loop ((i 0) (s x)) (if (> s 100.0) (+ s (* b i)) (loop (+ i 1) (* (+ 1.0 (* a a)) s))))",
        {"a": 0.7, "b": 0.5}, [3.0], [1.0, 60.0, 200.0], [],
    ),
    "nested loops": (
        "(define (inner y) (let loop ((k 0) (y y)) (if (> (abs y) 10.0) (+ y k) (loop (+ k 1) (* y (+ 1.5 a))))))"
        "(let loop ((i 0) (s x)) (if (> s 500.0) s (loop (+ i 1) (+ s (* b (inner (+ 1.0 (/ s 1000.0))))))))",
        {"a": 0.3, "b": 2.0}, [3.0], [1.0, 60.0, 499.0, 1000.0], [],
    ),
    "paths": (
        "(define (f n) (cond ((< n 1.0) (list a)) ((< n 2.0) (list a b)) ((< n 3.0) (list a b 1.5)) (else (list))))"
        "(* x (apply + (f x)))",
        {"a": 2.0, "b": 0.5}, [0.5], [1.5, 0.1], [2.5, 7.0],
    ),
    "fails": ("(if (< x 0.0) (error \"negative\" x) (* a (sqrt x)))", {"a": 2.0}, [0.5], [2.0], [-1.0]),
    "newton": (
        "(define (newton y n) (if (< (abs (- (* y y) x)) 1e-12) y (newton (- y (/ (- (* y y) x) (* 2 y))) (+ n 1))))"
        "(* a (newton 1.0 0))",
        {"a": 2.0}, [2.0], [3.0, 9.0, 0.3], [],
    ),
    "special": (
        "(+ (lgamma (+ a x)) (* b (erf x)) (digamma (* a x)) (sigmoid x) (softplus (- x)) (atan x a) (gamma x))",
        {"a": 2.0, "b": 0.5}, [0.5], [1.5, 3.25, 0.1], [],
    ),
    # Where what is small comes from large numbers, and where an absolute value has its kink.
    "tails": ("(+ (log (sigmoid (* a x))) (log (softplus (* b x))))", {"a": 2.0, "b": 0.5}, [0.5], [-18.0, 0.0, 40.0], []),
    "integers": ("(* a (quotient (exact (floor x)) 3) (modulo (exact (floor x)) 5) (expt x 2))", {"a": 2.0}, [7.5],
                 [13.2, 8.0], []),
    "minmax": ("(+ (max a x) (min b (* x x)) (abs (- x a)) (expt x b))", {"a": 2.0, "b": 0.5}, [0.5], [1.5, 2.5], []),
    "matrices": (
        "(let* ((m (mat (vec a x) (vec b 3.0))) (v (vec x 1.0)) (s (matmul m (transpose m)))) (+ (det m) (dot v (solve m v)) "
        "(ref (matmul m (inv m)) 0 1) (ref (cholesky s) 1 0) (logdet s) (apply + (tensor->list (* v (vec a b))))))",
        {"a": 2.0, "b": 0.5}, [0.5], [1.5, -2.5, 11.0], [],
    ),
}


def recorded(case):
    text, params, first, more, unknown = CASES[case]
    model = Model(text, params=params, inputs=["x"])
    return model, np.array(first + more), np.array(unknown), np.array(list(params.values()))


def loaded(source):
    space = {"__name__": "exported"}
    exec(compile(source, "exported", "exec"), space)
    return space


def points(theta):
    return [theta, theta * 1.1, theta * 0.9]


def close(found, expected, what, rtol=1e-9):
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=rtol, atol=1e-11, err_msg=what)


def compare(call, model, rows, unknown, theta, what, rtol=1e-9):
    """`call(theta, rows)` gives values, gradients by number, and which rows are known."""
    for point in points(theta):
        values, gradients = model.value_and_grad(point, {"x": rows}, errors="nan")
        assert np.isfinite(values).all(), what
        found, slopes, known = call(point, rows)
        assert np.asarray(known).all(), what
        close(found, values, what, rtol)
        close(slopes, gradients, what, rtol)
    if len(unknown):
        found, slopes, known = call(theta, unknown)
        assert not np.asarray(known).any() and np.isnan(np.asarray(found, float)).all(), what
        assert np.isnan(np.asarray(slopes, float)).all(), what


def source_of(case, language):
    model, rows, unknown, theta = recorded(case)
    for point in points(theta):
        model.value(point, {"x": rows}, errors="nan")
    return model, rows, unknown, theta, model.export(language, {"x": rows}, theta, name=case)


def numpy_call(space, xp=np):
    def call(theta, rows):
        with np.errstate(all="ignore"):
            value, gradient, known = space["value_and_grad"](list(theta), [rows])
            plain, same = space["value"](list(theta), [rows])
        np.testing.assert_allclose(np.asarray(plain), np.asarray(value), rtol=1e-12, equal_nan=True)
        assert np.array_equal(same, known)
        gradient = [np.broadcast_to(np.asarray(g, float), np.shape(value)) for g in gradient]
        return value, np.stack(gradient, -1), known

    return call


@pytest.mark.parametrize("case", CASES)
def test_numpy(case):
    if case == "special":
        pytest.importorskip("scipy")
    model, rows, unknown, theta, source = source_of(case, "numpy")
    compare(numpy_call(loaded(source)), model, rows, unknown, theta, case)


@pytest.mark.long
@pytest.mark.parametrize("case", ["join", "loop", "paths", "matrices", "minmax"])
def test_the_array_module_is_an_argument(case):
    """Another module with the interface of NumPy, as CuPy has it."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    model, rows, unknown, theta, source = source_of(case, "numpy")
    space = loaded(source)

    def call(theta, rows):
        value, gradient, known = space["value_and_grad"](list(theta), [rows], xp=jax.numpy)
        assert isinstance(value, jax.Array)
        return value, np.stack([np.broadcast_to(g, value.shape) for g in gradient], -1), known

    compare(call, model, rows, unknown, theta, case)


def c_call(source, name, params, folder):
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    (folder / "model.c").write_text(source)
    flags = ["-std=c99", "-O1", "-Wall", "-Werror", "-Wno-unused", "-shared", "-fPIC"]
    subprocess.check_call([compiler, *flags, "-o", str(folder / "model.so"), str(folder / "model.c"), "-lm"])
    function = getattr(ctypes.CDLL(str(folder / "model.so")), name + "_grad")
    plain = getattr(ctypes.CDLL(str(folder / "model.so")), name)

    def call(theta, rows):
        values, gradients, known = [], [], []
        double = ctypes.c_double
        for row in rows:
            row = np.atleast_1d(row)
            inputs = (double * max(len(row), 1))(*row)
            numbers = (double * max(params, 1))(*theta)
            value, again, gradient = (double * 1)(), (double * 1)(), (double * max(params, 1))()
            status = function(numbers, inputs, value, gradient)
            assert plain(numbers, inputs, again) == status
            assert again[0] == value[0] or np.isnan(value[0])
            values.append(value[0])
            gradients.append(list(gradient)[:params])
            known.append(status == 0)
        return values, gradients, known

    return call


@pytest.mark.parametrize("case", CASES)
def test_c(case, tmp_path):
    model, rows, unknown, theta, source = source_of(case, "c")
    call = c_call(source, case.replace(" ", "_"), len(theta), tmp_path)
    compare(call, model, rows, unknown, theta, case)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_torch(case):
    torch = pytest.importorskip("torch")
    model, rows, unknown, theta, source = source_of(case, "torch")
    space = loaded(source)
    compare(numpy_call(space), model, rows, unknown, theta, case)
    # Through autograd, where the dead arm of a where does no harm.
    if case in ("dead arm", "special", "fails"):
        return
    numbers = [torch.tensor(float(x), dtype=torch.float64, requires_grad=True) for x in theta]
    value, known = space["value"](numbers, [torch.tensor(rows)])
    value.sum().backward()
    expected = model.grad(theta, {"x": rows}, reduce="sum")
    close([0.0 if n.grad is None else float(n.grad) for n in numbers], expected, case)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_jax(case):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    model, rows, unknown, theta, source = source_of(case, "jax")
    compare(numpy_call(loaded(source)), model, rows, unknown, theta, case, 1e-8)


def test_jax_says_when_a_loop_is_too_long():
    pytest.importorskip("jax")
    model, rows, _, theta, source = source_of("loop", "jax")
    value, gradient, known = loaded(source)["value_and_grad"](list(theta), [rows], max_rounds=4)
    assert not known[1] and np.isnan(value[1]) and known[3], "the second row needs more rounds"


@pytest.mark.parametrize("case", [c for c in CASES if c not in ("loop", "nested loops", "newton", "integers")])
def test_sympy(case):
    sympy = pytest.importorskip("sympy")
    model, rows, unknown, theta, source = source_of(case, "sympy")
    space = loaded(source)
    symbols = [*space["PARAMETERS"], *space["INPUTS"]]
    expression = space["EXPRESSION"]
    slopes = space["GRADIENT"]
    diffs = [sympy.diff(expression, p) for p in space["PARAMETERS"]]

    def call(theta, rows):
        at = [dict(zip(symbols, [*map(float, theta), float(x)])) for x in rows]
        value = [complex(expression.subs(p).evalf()).real for p in at]
        gradient = [[complex(s.subs(p).evalf()).real for s in slopes] for p in at]
        if not np.isnan(value).any():
            other = [[complex(s.subs(p).evalf()).real for s in diffs] for p in at]
            np.testing.assert_allclose(other, gradient, rtol=1e-9, atol=1e-11)
        return value, gradient, ~np.isnan(value)

    compare(call, model, rows, unknown, theta, case)


@pytest.mark.parametrize("language", ["numpy", "jax", "torch"])
def test_a_real_where_the_data_had_integers_is_an_unknown_path(language):
    if language != "numpy":
        pytest.importorskip(language)
    if language == "jax":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    model = Model("(* k (/ n 2))", params={"k": 1.0})
    space = loaded(model.export(language, {"n": [5, 6]}))
    value, known = space["value"]([1.0], [np.array([5.0, 6.0, 2.5, 1e30, np.nan, np.inf])])
    assert np.asarray(known).tolist() == [True, True, False, False, False, False]
    np.testing.assert_array_equal(np.asarray(value), [2.5, 3.0] + [np.nan] * 4)


def test_sympy_of_a_loop_is_unrolled():
    sympy = pytest.importorskip("sympy")
    model = Model("(let loop ((i 0) (s x)) (if (= i 3) s (loop (+ i 1) (* a s))))", params={"a": 2.0})
    space = loaded(model.export("sympy", {"x": [1.0]}))
    a, x = space["PARAMETERS"][0], space["INPUTS"][0]
    assert sympy.expand(space["EXPRESSION"] - a**3 * x) == 0


def test_latex():
    text = Model(CASES["join"][0], params=CASES["join"][1]).export("latex", {"x": [0.5]})
    assert text.startswith("% <text>") and r"\begin{cases}" in text and r"\ln\left(x\right)" in text
    assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right")
    model, rows, *_ = recorded("paths")
    text = model.export("latex", {"x": rows})
    assert r"f_{1}" in text and r"\text{unknown}" in text


def test_what_cannot_be_exported_is_told():
    model = Model("(* a x)", params={"a": 1.0})
    with pytest.raises(ValueError, match="needs data"):
        model.export("c")
    with pytest.raises(dmci.FileError, match="no export to cobol"):
        model.export("cobol", {"x": [1.0]})
    with pytest.raises(dmci.DataError, match="different structures"):
        lists = Model("(* a (apply + xs))", params={"a": 1.0})
        lists.export("c", {"xs": [[1.0], [1.0, 2.0]]})


def numeric(entry):
    return entry["inputs"] and all(isinstance(v, (int, float)) for e in entry["examples"] for v in e.values())


@pytest.mark.parametrize("language", ["numpy", "c"])
def test_the_corpus(language, tmp_path):
    """Programs whose inputs are numbers, written in NumPy and C, at all examples."""
    entries = [entry for entry in corpus() if numeric(entry)]
    if not entries:
        pytest.skip("there is no corpus")
    pytest.importorskip("scipy") if language == "numpy" else shutil.which("cc") or pytest.skip("no C compiler")
    done = 0
    import os

    every = 1 if os.environ.get("DMCI_LONG") else 6
    for number, entry in enumerate(entries[::every]):
        params = {name: float(value) for name, value in entry["params"].items()}
        model = Model(dmci.Program(entry["source"], "model"), params=params, inputs=entry["inputs"])
        # Every example in its own types: an integer is exact.
        rows = {name: [e[name] for e in entry["examples"]] for name in entry["inputs"]}
        values, gradients = model.value_and_grad(None, rows)
        try:
            source = model.export(language, rows, name="model")
        except dmci.DataError as error:
            assert "different structures" in str(error) or "more than" in str(error), entry["id"]
            continue
        theta = model.start
        if language == "numpy":
            with np.errstate(all="ignore"):
                found, slopes, known = loaded(source)["value_and_grad"](
                    list(theta), [np.array(rows[name]) for name in entry["inputs"]])
            slopes = np.stack([np.broadcast_to(s, np.shape(values)) for s in slopes], -1) if slopes else gradients
        else:
            folder = tmp_path / str(number)
            folder.mkdir()
            call = c_call(source, "model", len(theta), folder)
            found, slopes, known = call(theta, np.array([rows[name] for name in entry["inputs"]], float).T)
        assert np.all(known), entry["id"]
        np.testing.assert_allclose(np.broadcast_to(found, np.shape(values)), values, rtol=1e-9, atol=1e-12, err_msg=entry["id"])
        scale = np.abs(gradients).max() if gradients.size else 0.0
        np.testing.assert_allclose(slopes, gradients, rtol=1e-7, atol=1e-9 * scale + 1e-12, err_msg=entry["id"])
        done += 1
    assert done > 0.5 * len(entries[::every]), done


def test_vectors_and_several_results(tmp_path):
    m = Model("(let ((s (dot w x))) (list (* b s) (if (> s 0.0) (sqrt s) (* b s s))))",
              params={"b": 2.0, "w": np.array([0.5, -1.0])}, outputs=2)
    x = np.array([[4.0, 1.0], [1.0, 3.0], [2.0, 0.5]])
    values, gradients = m.value_and_grad(None, {"x": x})
    space = loaded(m.export("numpy", {"x": x}))
    assert space["PARAMETERS"] == ("b", "w.0", "w.1") and space["INPUTS"] == ("x.0", "x.1")
    with np.errstate(all="ignore"):
        found, slopes, known = space["value_and_grad"](list(m.start), list(x.T))
    assert known.all()
    close(np.stack(found, -1), values, "values")
    close(np.stack([np.stack(np.broadcast_arrays(*row), -1) for row in slopes], 1), gradients, "gradients")
    assert "double out[8]" in m.export("c", {"x": x}), "two values and six derivatives"
    assert r"f^{(2)}" in m.export("latex", {"x": x})

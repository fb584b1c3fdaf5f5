import pickle
import signal
import threading

import numpy as np
import pytest

import dmci
from dmci import Char, Dotted, Program, Symbol, Vector


def test_values_come_back_as_python_values():
    assert dmci.run("(map (lambda (x) (* a x x)) xs)", a=0.5, xs=[1, 2, 3]) == [0.5, 2.0, 4.5]
    assert dmci.run("(* 123456789012 1234567890123)") == 123456789012 * 1234567890123
    assert dmci.run("(list #t \"text\" 'word #\\a (vector 1 2.5) '(1 . 2))") == [
        True, "text", Symbol("word"), Char("a"), Vector([1, 2.5]), Dotted([1], 2),
    ]
    kinds = dmci.run("(list 'word #\\a \"text\" car)")
    assert [type(k).__name__ for k in kinds] == ["Symbol", "Char", "str", "Opaque"]
    assert dmci.run("(values 1 2)") == (1, 2)
    assert dmci.run("(if #f #f)") is None


def test_python_values_bind_as_data():
    assert dmci.run("(length xs)", xs=[1, [2, 3], "a"]) == 3
    assert dmci.run("(vector-ref v 1)", v=Vector([1, 2])) == 2
    assert dmci.run("(symbol? s)", s=Symbol("a")) is True
    assert dmci.run("(string? s)", s="a") is True
    assert dmci.run("(exact? n)", n=np.int64(3)) is True
    assert dmci.run("(+ n 1)", n=10**30) == 10**30 + 1
    assert dmci.run("(cdr (assq 'b table))", table={"a": 1, "b": 2.5}) == 2.5
    assert dmci.run("(* 2 x)", x=np.float32(1.5)) == 3.0
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(dmci.run("(matmul m m)", m=m), m @ m)
    np.testing.assert_array_equal(dmci.run("(* 2. v)", v=np.arange(3)), [0.0, 2.0, 4.0])
    assert dmci.run("(ref m 1 0)", m=m[:, ::-1]) == 4.0, "not contiguous"


def test_what_is_no_datum_is_refused():
    with pytest.raises(TypeError, match="not object"):
        dmci.run("x", x=object())
    deep = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        dmci.run("x", x=deep)
    with pytest.raises(ValueError, match="3 dimensions"):
        dmci.run("x", x=np.zeros((2, 2, 2)))


def test_modes_and_names_that_are_no_identifiers():
    for mode in ("direct", "dmci", "tower:2"):
        assert dmci.run("(define (f n) (if (= n 0) seed-value (* 2 (f (- n 1))))) (f 3)", mode,
                        names={"seed-value": 1.5}) == 12.0
    assert dmci.run("(* fuel 2)", names={"fuel": 4}) == 8, "a name that is an option too"
    with pytest.raises(dmci.FileError, match="unknown mode"):
        dmci.run("1", "fast")


def test_errors_carry_code_place_help_and_picture():
    with pytest.raises(dmci.RunError) as caught:
        dmci.run("(display \"so far\")\n(define (mean l) (/ (apply + l) (lenght l))) (mean (list 1 2 3))")
    error = caught.value
    assert (error.code, error.help, error.output) == ("E0301", "did you mean length?", "so far")
    assert (error.span.line, error.span.text) == (2, "lenght")
    assert "^^^^^^" in str(error) and "^^^^^^" in error._repr_html_()
    assert error.to_json()[0]["code"] == "E0301"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, str(again)) == (dmci.RunError, "E0301", str(error))
    with pytest.raises(dmci.ProgramSyntaxError):
        dmci.run("(+ 1")
    with pytest.raises(dmci.LimitError):
        dmci.run("(let loop () (loop))", fuel=10_000)
    with pytest.raises(dmci.LimitError):
        dmci.run("(let loop () (loop))", time=0.05)


def test_check_gives_every_diagnostic_as_an_object():
    found = dmci.check("(define (f x) (foo x))\n(f 1 2)")
    assert [d.code for d in found] == ["E0301", "E0302"]
    assert found[1].span.line == 2 and found[0].severity == "error"
    assert "foo" in found[0].rendered and "f" not in found[0].rendered.split("foo")[0][:5]
    assert found[0].explanation and "E0301" not in found[0].explanation.splitlines()[0]
    assert dmci.check("(* a x)", "a", "x") == []


def test_gradients_and_hessians():
    p = Program("(params (a free 2.0) (b free 0.5)) (* a a (exp (* b x)))")
    g = p.grad(x=1.0)
    e = np.exp(0.5)
    assert g.value == pytest.approx(4 * e)
    assert g.grad == pytest.approx({"a": 4 * e, "b": 4 * e})
    np.testing.assert_allclose(p.hessian(x=1.0), [[2 * e, 4 * e], [4 * e, 4 * e]])
    assert p.grad("x", x=1.0)["x"] == pytest.approx(2 * e)
    assert p.grad(a=3.0, x=0.0).value == 9.0
    w = Program("(dot w x)").grad(["w"], w=np.array([1.0, 2.0]), x=np.array([3.0, 4.0]))
    np.testing.assert_array_equal(w["w"], [3.0, 4.0])
    assert Program("(* 2.0 x 3.0)").grad("literals", x=1).flat.tolist() == [3.0, 2.0]
    assert w.coordinates == ["w.0", "w.1"]


def test_a_tape_is_a_text_with_counts():
    tape = Program("(if (< x 1.) (* x x) (- (* 2 x) 1))").tape(x=0.5)
    assert "select" in str(tape) and tape.operations == 5
    assert tape.decision_list[0]["joined"] == 1 and "joined" in tape._repr_html_()


def test_programs_compose():
    decay = Program("(params (a positive 2.0)) (* a (exp (- x)))", "decay")
    line = Program("(params (m free 3.0)) (* m x)", "line")
    assert (decay + line).value(x=0.0) == 2.0
    assert (decay * line).value(x=1.0) == pytest.approx(6 * np.exp(-1))
    assert line.chain(decay, "x").value(x=0.0) == 6.0
    assert line.substitute("m", 10.0).value(x=2.0) == 20.0
    assert line.substitute("m", Program("(+ k 1)")).value(x=2.0, k=1.0) == 4.0
    assert line.rename(m="slope").grad(x=2.0).grad == {"slope": 2.0}
    assert [p.name for p in decay.apart("d").parameters] == ["d.a"]
    with pytest.raises(dmci.DataError, match="two parameters"):
        decay + decay
    assert decay.inputs == ["x"]
    assert Program("(* 2.5 x)").parametrised().grad(x=2.0).value == 5.0


def test_programs_are_data_and_files(tmp_path):
    p = Program("(define (f x) (* x 2.5))\n(f 4)")
    assert p.data()[1] == [Symbol("f"), 4]
    assert Program.from_data([[Symbol("+"), 1, 2]]).value() == 3
    p.save(tmp_path / "p.ncg")
    p.save(tmp_path / "p.scm")
    assert dmci.load(tmp_path / "p.ncg").value() == 10.0
    assert dmci.load(tmp_path / "p.scm").text == p.text
    assert pickle.loads(pickle.dumps(p)) == p
    (tmp_path / "bad.ncg").write_bytes(b"nonsense")
    with pytest.raises(dmci.Error):
        dmci.load(tmp_path / "bad.ncg")


def test_an_interpreter_of_its_own_and_evaluators(tmp_path):
    interpreter = dmci.Interpreter()
    assert interpreter.value("(+ 1 2)") == 3
    assert interpreter.grad("(* a a)", a=3.0).grad == {"a": 6.0}
    evaluator = tmp_path / "last.scm"
    evaluator.write_text("(define (evaluate forms env) (cdr (assq 'x env)))")
    assert dmci.run("(anything)", f"eval:{evaluator}", x=7) == 7
    evaluator.write_text("(define (evaluate forms env) 8)")
    assert dmci.run("(anything)", f"eval:{evaluator}", x=7) == 8, "the file is read again"


def test_control_c_stops_a_run():
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        dmci.run("(let loop () (loop))")
    assert dmci.run("(+ 1 2)") == 3

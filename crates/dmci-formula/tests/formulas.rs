//! Formulas against the programs that they stand for, in both directions.

use dmci_formula::{
    BinaryOp, Condition, Expr, FUNCTIONS, Formula, conditions, from_scheme, function, looks_like_infix, starts,
};

#[test]
fn formulas_become_the_programs_that_people_mean() {
    for (formula, program) in [
        ("A*(1 - exp(-k*t))", "(* A (- 1 (exp (* (- k) t))))"),
        ("a + b*x + c*x^2", "(+ a (* b x) (* c (expt x 2)))"),
        ("-x^2", "(- (expt x 2))"),
        ("2^-x", "(expt 2 (- x))"),
        ("2**3**2", "(expt 2 (expt 3 2))"),
        ("a - b - c", "(- (- a b) c)"),
        ("a/b/c", "(/ (/ a b) c)"),
        ("a*b/c*d", "(* (/ (* a b) c) d)"),
        ("a + (b + c)", "(+ a (+ b c))"),
        (".5*x + 2.", "(+ (* 0.5 x) 2.0)"),
        ("1e-3*x", "(* 1e-3 x)"),
        ("-3*x", "(* -3 x)"),
        ("np.log(x) + ln(x)", "(+ (log x) (log x))"),
        ("if(x <= c, a, b)", "(if (<= x c) a b)"),
        ("where(x > 1 and not y == 2, 1, 0)", "(if (and (> x 1) (not (= y 2))) 1 0)"),
        ("if(0 < x < 1, x, 0)", "(if (and (< 0 x) (< x 1)) x 0)"),
        ("if(x != 1 || y > 2, 1, 2)", "(if (or (not (= x 1)) (> y 2)) 1 2)"),
        ("2*pi*x", "(* 2 (* 4 (atan 1.0)) x)"),
        ("a*`dose (mg)`", "(* a |dose (mg)|)"),
        ("max(a, b, c) + atan2(y, x)", "(+ (max a b c) (atan2 y x))"),
        ("a\u{b7}x \u{2212} b", "(- (* a x) b)"),
        ("Vmax*conc/(K + conc)", "(/ (* Vmax conc) (+ K conc))"),
    ] {
        let parsed = Formula::parse(formula).unwrap_or_else(|e| panic!("{formula}: {e}"));
        assert_eq!(parsed.body.to_scheme(), program, "{formula}");
    }
    let named = Formula::parse("log(y) ~ a + b*x").expect("a formula with a target");
    assert_eq!(named.target.map(|t| t.to_scheme()), Some("(log y)".into()));
}

#[test]
fn mistakes_say_what_is_wrong_and_where() {
    for (formula, place, message, help) in [
        ("2x", "x", "x follows 2 without an operator", "if you mean a product, write 2*x"),
        ("a(b + c)", "a", "there is no function a", "if a is a number, write a*(...)"),
        ("epx(x)", "epx", "there is no function epx", "did you mean exp? If epx is a number, write epx*(...)"),
        ("(a + b", "(", "this ( is never closed", "add the missing )"),
        ("a + b)", ")", "this ) closes nothing", "remove it"),
        ("a + ", "", "the formula ends where a number, a name or a call is expected", "complete"),
        ("y = a*x", "=", "= does not compare", "write == to compare, ~ to name a target"),
        ("1,5*x", ",", "a comma stands outside of a call", "decimal point"),
        ("a*(x > 1)", "(x > 1)", "a condition stands where a number is expected", "if("),
        ("if(x, 1, 2)", "x", "a number stands where a condition is expected", "x > 0"),
        ("if(x > 1, 2)", "if", "if takes a condition and two numbers, got 2 arguments", "if(x < 1, a, b)"),
        ("sin(a, b)", "sin", "sin takes 1 argument, got 2", ""),
        ("x[1]", "[", "[ has no meaning here", "group with ( and )"),
        ("a * `b", "`b", "a quoted name does not end", "close"),
        ("1.2.3", "1.2.", "1.2. is not a number", "one decimal point"),
        ("", "", "the formula ends where a number, a name or a call is expected", ""),
    ] {
        let error = Formula::parse(formula).expect_err(formula);
        assert_eq!(error.message, message, "{formula}");
        assert_eq!(&formula[error.at.clone()], place, "{formula}");
        assert!(error.help.contains(help), "{formula}: {}", error.help);
    }
    for deep in ["(", "-", "exp("] {
        let error = Formula::parse(&deep.repeat(100_000)).expect_err("too deep");
        assert!(error.message.contains("nested more than"), "{}", error.message);
    }
}

/// A small stream of numbers.
struct Stream(u64);

impl Stream {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

fn number(stream: &mut Stream, depth: usize) -> Expr {
    let kind = if depth == 0 { stream.below(2) } else { stream.below(7) };
    let part = |stream: &mut Stream| Box::new(number(stream, depth - 1));
    match kind {
        0 => Expr::Number(["2", "0.5", "1e-3", "10"][stream.below(4)].into()),
        1 => Expr::Name(["x", "k", "dose (mg)", "T0"][stream.below(4)].into()),
        2 => Expr::Negative(Box::new(Expr::Binary(BinaryOp::Add, part(stream), part(stream)))),
        3 | 4 => {
            let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Pow];
            Expr::Binary(ops[stream.below(5)], part(stream), part(stream))
        }
        5 => {
            let function = &FUNCTIONS[stream.below(FUNCTIONS.len())];
            Expr::Call(function, (0..function.least).map(|_| *part(stream)).collect())
        }
        _ => Expr::If(Box::new([condition(stream, depth - 1), *part(stream), *part(stream)])),
    }
}

fn condition(stream: &mut Stream, depth: usize) -> Expr {
    let kind = if depth == 0 { 0 } else { stream.below(4) };
    match kind {
        1 => Expr::Not(Box::new(condition(stream, depth - 1))),
        2 | 3 => {
            let op = if kind == 2 { BinaryOp::And } else { BinaryOp::Or };
            Expr::Binary(op, Box::new(condition(stream, depth - 1)), Box::new(condition(stream, depth - 1)))
        }
        _ => {
            let ops = [BinaryOp::Less, BinaryOp::GreaterEqual, BinaryOp::Equal, BinaryOp::NotEqual];
            let (a, b) = (number(stream, depth.min(1)), number(stream, depth.min(1)));
            Expr::Binary(ops[stream.below(4)], Box::new(a), Box::new(b))
        }
    }
}

#[test]
fn what_is_printed_is_read_back() {
    let mut stream = Stream(7);
    for _ in 0..5_000 {
        let expr = number(&mut stream, 4);
        let infix = expr.to_infix();
        let read = Formula::parse(&infix).unwrap_or_else(|e| panic!("{infix}: {e}")).body;
        assert_eq!(read.to_scheme(), expr.to_scheme(), "{infix}");
        let again = from_scheme(&expr.to_scheme()).unwrap_or_else(|| panic!("{}", expr.to_scheme()));
        assert_eq!(again.to_scheme(), expr.to_scheme());
    }
}

#[test]
fn programs_of_one_expression_are_formulas() {
    let program = "; decay\n(params (a free 1.0) (k positive 2.0))\n(define rate (/ k 2))\n(let ((z (* rate t))) (* a (exp (- z))))";
    assert_eq!(from_scheme(program).map(|e| e.to_infix()), Some("a*exp(-(k/2*t))".into()));
    for other in
        ["(define (f x) x) (f 2)", "(let loop ((i 0)) i)", "'(1 2)", "(vector-ref v 1)", "x y", "(+ 1", "\"x\""]
    {
        assert_eq!(from_scheme(other), None, "{other}");
    }
}

#[test]
fn infix_and_python_are_told_from_programs() {
    for text in ["A*(1-exp(-k*t))", "a*x + b", "x**2", "y ~ a*x", "exp(x)", "def f(x):\n    return x", "lambda x: x"] {
        assert!(looks_like_infix(text), "{text}");
    }
    for text in ["x", "2.5", "(* a x)", "(- x)", "(params (a free 1)) (* a x)", "(+ 1 2)", "", "(f x)", "a-b", "x!"] {
        assert!(!looks_like_infix(text), "{text}");
    }
}

#[test]
fn ranges_and_starts_are_read() {
    let range = |name: &str, low, high| Condition { name: name.into(), low, high };
    assert_eq!(
        conditions("A > 0, 0 < p < 1, -2 <= q, q < 3"),
        Ok(vec![range("A", Some(0.0), None), range("p", Some(0.0), Some(1.0)), range("q", Some(-2.0), Some(3.0)),])
    );
    for wrong in ["A", "A > B", "A + 1 > 0", "1 < p < 0", "A > 0 or B > 0", "A > 0,"] {
        assert!(conditions(wrong).is_err(), "{wrong}");
    }
    assert_eq!(starts("A=20, k = -1/4"), Ok(vec![("A".into(), 20.0), ("k".into(), -0.25)]));
    for wrong in ["A", "A=B", "A=1, A=2", "=1", "A=1 k=2"] {
        assert!(starts(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn names_of_functions_are_unique() {
    let names: Vec<&str> = FUNCTIONS.iter().flat_map(|f| f.names.iter().copied()).collect();
    for name in &names {
        assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        assert!(function(name).is_some());
    }
}

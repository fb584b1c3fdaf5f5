//! Normal forms: every rule holds on its domain and needs its conditions, and what rules join has one form.

use dmci::Program;
use dmci_search::expr::Expr;
use dmci_search::lower::{Lowered, Space};
use dmci_search::saturation::{Bounds, Rule, Signs, normal, rules};
use dmci_stats::random::Stream;

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| s.to_string()).collect()
}

/// A side of a rule at some values of its variables.
fn value(side: &str, values: &[f64; 3]) -> f64 {
    // Candidates have no 0 of their own.
    let text = side.replace(" 0)", " zero)");
    let text = if text == "0" { "zero".into() } else { text };
    let variables = names(&["?a", "?b", "?c", "zero"]);
    let data = Program::new(&text).data().expect("a side is a datum");
    let expr = Expr::read(&data[0], &variables, &[]).unwrap_or_else(|| panic!("{side} is no expression"));
    let columns = [[values[0]], [values[1]], [values[2]], [0.0]];
    let columns: Vec<&[f64]> = columns.iter().map(|c| c.as_slice()).collect();
    Lowered::new(&expr, 4).values(&[], &columns, 1, &mut Space::default())[0]
}

/// Draws at which the sides of a rule differ, and draws that counted.
fn broken(rule: &Rule, without: Option<usize>, draws: u64) -> (usize, usize) {
    let mut stream = Stream::new(11, 7);
    let (mut wrong, mut counted) = (0, 0);
    for _ in 0..draws {
        let values: [f64; 3] = std::array::from_fn(|_| match stream.below(8) {
            0 => 0.0,
            1 => [-3.0, -2.0, -1.0, 1.0, 2.0][stream.below(5)],
            k => [-1.0, 1.0][k % 2] * (0.7 * stream.normal()).exp(),
        });
        let of = |name: &str| values[["?a", "?b", "?c"].iter().position(|v| *v == name).expect("a variable")];
        let mut needs = rule.needs.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        if !needs.all(|(_, (name, signs))| signs.allow(of(name))) {
            continue;
        }
        let (x, y) = (value(&rule.left, &values), value(&rule.right, &values));
        if x.is_finite() || y.is_finite() {
            counted += 1;
            let same = (x - y).abs() <= 1e-9 * x.abs().max(1.0);
            wrong += usize::from(!same);
        }
    }
    (wrong, counted)
}

#[test]
fn every_rule_holds_on_its_domain() {
    let list = rules();
    let lines = include_str!("../src/rules.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    assert_eq!(list.len(), lines.count(), "every line is a rule");
    for rule in &list {
        let (wrong, counted) = broken(rule, None, 400);
        assert!(wrong == 0 && counted >= 40, "{}: {wrong} of {counted} draws differ", rule.line);
    }
}

#[test]
fn every_condition_is_needed() {
    let mut idle = Vec::new();
    for rule in &rules() {
        for (i, (name, _)) in rule.needs.iter().enumerate() {
            if broken(rule, Some(i), 400).0 == 0 {
                idle.push(format!("{}: nothing breaks without the condition on {name}", rule.line));
            }
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

fn form(text: &str, signs: &[Signs]) -> String {
    let (variables, parameters) = (names(&["x", "y"]), names(&["p", "q", "r", "s"]));
    let data = Program::new(text).data().expect("it is read");
    let mut expr = Expr::read(&data[0], &variables, &parameters).expect("it is an expression");
    expr.renumber();
    normal(&expr, &vec![1.0; expr.parameters()], signs, Bounds::default()).0.text(&variables, &parameters)
}

#[test]
fn what_rules_join_has_one_form() {
    let above = [Signs::of(&[0.5, 2.0]), Signs::of(&[0.1, 7.0])];
    for (a, b) in [
        ("(exp (* p (log x)))", "(expt x p)"),
        ("(+ (* x x) (* 2 x y) (* y y))", "(square (+ x y))"),
        ("(sqrt (* x x))", "x"),
        ("(* p (sqrt x) (sqrt y))", "(* p (sqrt (* x y)))"),
        ("(/ (sin x) (cos x))", "(tan x)"),
        ("(+ (square (sin x)) (square (cos x)) y)", "(+ 1 y)"),
        ("(log (* x y))", "(+ (log x) (log y))"),
        ("(- p (max x y))", "(min (- p x) (- p y))"),
        ("(/ x (+ x y))", "(/ 1 (+ 1 (/ y x)))"),
    ] {
        assert_eq!(form(a, &above), form(b, &above), "{a} and {b}");
    }
    for (a, b) in [("(sin x)", "(cos x)"), ("(+ x (* p y))", "(* x p y)"), ("(expt x p)", "(exp (* p x))")] {
        assert_ne!(form(a, &above), form(b, &above), "{a} and {b}");
    }
}

/// Rules with conditions stay away where the conditions do not hold.
#[test]
fn the_domain_decides() {
    let any = [Signs::ANY, Signs::ANY];
    assert_ne!(form("(sqrt (* x x))", &any), form("x", &any));
    assert_eq!(form("(sqrt (* x x))", &any), form("(abs x)", &any));
    assert_ne!(form("(log (* x y))", &any), form("(+ (log x) (log y))", &any));
    let below = [Signs::of(&[-2.0, -0.5]), Signs::ANY];
    assert_eq!(form("(abs x)", &below), form("(- x)", &below));
}

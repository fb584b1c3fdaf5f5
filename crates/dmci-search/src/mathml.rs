//! Formulas as MathML, which browsers draw without any library.

use crate::expr::{Expr, Node};
use crate::operation::Operation;

/// The formula of an expression with names or numbers for its parameters.
pub fn mathml(expr: &Expr, variables: &[String], parameters: &[String]) -> String {
    let body = Formula { expr, variables, parameters }.part(0).0;
    format!("<math xmlns=\"http://www.w3.org/1998/Math/MathML\" display=\"block\"><mrow>{body}</mrow></math>")
}

struct Formula<'a> {
    expr: &'a Expr,
    variables: &'a [String],
    parameters: &'a [String],
}

/// How tightly a formula is bound: sums least, then products, then what needs no parentheses.
type Bound = u8;
const SUM: Bound = 0;
const PRODUCT: Bound = 1;
const ATOM: Bound = 2;

fn fenced((text, bound): (String, Bound), least: Bound) -> String {
    if bound >= least { text } else { format!("<mrow><mo>(</mo>{text}<mo>)</mo></mrow>") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Formula<'_> {
    fn part(&self, at: usize) -> (String, Bound) {
        let operation = match self.expr.nodes[at] {
            Node::Var(v) => return (format!("<mi>{}</mi>", escaped(&self.variables[v as usize])), ATOM),
            Node::Param(p) => return number(&self.parameters[p as usize]),
            Node::Int(i) => return number(&i.to_string()),
            Node::Op(operation) => operation,
        };
        let operands: Vec<usize> = self.expr.operands(at).collect();
        let first = |least| fenced(self.part(operands[0]), least);
        let second = |least| fenced(self.part(operands[1]), least);
        let row = |a: String, sign: &str, b: String| format!("<mrow>{a}<mo>{sign}</mo>{b}</mrow>");
        match operation {
            Operation::Add => (row(first(SUM), "+", second(SUM)), SUM),
            Operation::Sub => (row(first(SUM), "&#x2212;", second(PRODUCT)), SUM),
            Operation::Neg => (format!("<mrow><mo>&#x2212;</mo>{}</mrow>", first(PRODUCT)), SUM),
            Operation::Mul => (row(first(PRODUCT), "&#x22C5;", second(PRODUCT)), PRODUCT),
            Operation::Div => (format!("<mfrac>{}{}</mfrac>", first(SUM), second(SUM)), ATOM),
            Operation::Pow => (format!("<msup>{}<mrow>{}</mrow></msup>", first(ATOM), second(SUM)), ATOM),
            Operation::Square => (format!("<msup>{}<mn>2</mn></msup>", first(ATOM)), ATOM),
            Operation::Cube => (format!("<msup>{}<mn>3</mn></msup>", first(ATOM)), ATOM),
            Operation::Sqrt => (format!("<msqrt>{}</msqrt>", first(SUM)), ATOM),
            Operation::Exp => (format!("<msup><mi>e</mi><mrow>{}</mrow></msup>", first(SUM)), ATOM),
            Operation::Abs => (format!("<mrow><mo>|</mo>{}<mo>|</mo></mrow>", first(SUM)), ATOM),
            other => {
                let inside: Vec<String> = operands.iter().map(|&i| self.part(i).0).collect();
                let inside = inside.join("<mo>,</mo>");
                (format!("<mrow><mi>{}</mi><mo>(</mo>{inside}<mo>)</mo></mrow>", other.name()), ATOM)
            }
        }
    }
}

/// A number, with its power of ten written as one.
fn number(text: &str) -> (String, Bound) {
    let (digits, power) = text.split_once('e').map_or((text, None), |(d, p)| (d, Some(p)));
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |d| ("<mo>&#x2212;</mo>", d));
    let shown = if digits.starts_with(|c: char| c.is_ascii_digit()) {
        format!("<mn>{digits}</mn>")
    } else {
        format!("<mi>{}</mi>", escaped(digits))
    };
    let ten = power.map_or(String::new(), |p| {
        format!("<mo>&#x22C5;</mo><msup><mn>10</mn><mn>{}</mn></msup>", p.replace('-', "&#x2212;"))
    });
    let bound = match (sign, power) {
        ("", None) => ATOM,
        ("", Some(_)) => PRODUCT,
        _ => SUM,
    };
    (format!("<mrow>{sign}{shown}{ten}</mrow>"), bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci::Program;

    #[test]
    fn parentheses_are_where_they_are_needed() {
        let shown = |text: &str| {
            let data = Program::new(text).data().expect("it is read");
            let names = ["x".to_string(), "a<b".to_string()];
            let expr = Expr::read(&data[0], &names, &["p".to_string()]).expect("it is an expression");
            let text = mathml(&expr, &names, &["-2.5e-7".to_string()]);
            let plain = text.replace("&#x2212;", "-").replace("&#x22C5;", "*");
            let mut out = String::new();
            let mut inside = false;
            for c in plain.chars() {
                match c {
                    '<' => inside = true,
                    '>' => inside = false,
                    c if !inside => out.push(c),
                    _ => {}
                }
            }
            out
        };
        assert_eq!(shown("(* (+ x 1) (- x (+ x 2)))"), "(x+1)*(x-(x+2))");
        assert_eq!(shown("(+ x (* x 3))"), "x+x*3");
        assert_eq!(shown("(* x p)"), "x*(-2.5*10-7)");
        assert_eq!(shown("(sin a<b)"), "sin(a&lt;b)");
    }
}

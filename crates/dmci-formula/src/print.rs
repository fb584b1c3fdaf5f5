//! Expressions as programs and as infix text.

use crate::expr::{BinaryOp, Expr};
use crate::token::is_plain_name;

impl Expr {
    /// The expression as a program writes it.
    pub fn to_scheme(&self) -> String {
        match self {
            // Scheme has no numbers that begin or end with a point.
            Expr::Number(text) => scheme_number(text),
            Expr::Name(name) if name == "pi" => "(* 4 (atan 1.0))".into(),
            Expr::Name(name) => symbol(name),
            Expr::Negative(a) => format!("(- {})", a.to_scheme()),
            Expr::Not(a) => format!("(not {})", a.to_scheme()),
            Expr::Binary(BinaryOp::NotEqual, a, b) => format!("(not (= {} {}))", a.to_scheme(), b.to_scheme()),
            Expr::Binary(op, ..) => {
                // a + b + c is one sum; its value is that of (a + b) + c.
                let flat = matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or);
                let mut operands = Vec::new();
                let mut rest = self;
                while let Expr::Binary(other, a, b) = rest {
                    if other != op || !(flat || operands.is_empty()) {
                        break;
                    }
                    operands.push(b.to_scheme());
                    rest = a;
                }
                operands.push(rest.to_scheme());
                operands.reverse();
                format!("({} {})", op.row().1, operands.join(" "))
            }
            Expr::Call(function, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(Expr::to_scheme).collect();
                format!("({} {})", function.scheme, arguments.join(" "))
            }
            Expr::If(parts) => {
                let [test, then, otherwise] = &**parts;
                format!("(if {} {} {})", test.to_scheme(), then.to_scheme(), otherwise.to_scheme())
            }
        }
    }

    /// The expression in infix notation, with as few brackets as its meaning allows.
    pub fn to_infix(&self) -> String {
        match self {
            Expr::Number(text) => text.clone(),
            Expr::Name(name) if is_plain_name(name) => name.clone(),
            Expr::Name(name) => format!("`{name}`"),
            Expr::Negative(a) => format!("-{}", a.inside(7)),
            Expr::Not(a) => format!("not {}", a.inside(4)),
            Expr::Binary(op, a, b) => {
                let (sign, _, binds) = op.row();
                // Powers group to the right; comparisons do not group at all.
                let (left, right) = match op {
                    BinaryOp::Pow => (binds + 1, binds),
                    op if op.is_comparison() => (binds + 1, binds + 1),
                    _ => (binds, binds + 1),
                };
                let (a, b) = (a.inside(left), b.inside(right));
                match op {
                    BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow => format!("{a}{sign}{b}"),
                    _ => format!("{a} {sign} {b}"),
                }
            }
            Expr::Call(function, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(Expr::to_infix).collect();
                format!("{}({})", function.names[0], arguments.join(", "))
            }
            Expr::If(parts) => {
                let parts: Vec<String> = parts.iter().map(Expr::to_infix).collect();
                format!("if({})", parts.join(", "))
            }
        }
    }

    /// The same in brackets, unless its operators bind at least so tightly.
    fn inside(&self, least: u8) -> String {
        let text = self.to_infix();
        let binds = match self {
            Expr::Number(text) if text.starts_with('-') => 7,
            Expr::Negative(_) => 7,
            Expr::Not(_) => 3,
            Expr::Binary(op, ..) => op.row().2,
            _ => u8::MAX,
        };
        if binds >= least { text } else { format!("({text})") }
    }
}

/// A number as a program writes it.
fn scheme_number(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = digits.split_at(digits.find(['e', 'E']).unwrap_or(digits.len()));
    let mantissa = match mantissa {
        m if m.starts_with('.') => format!("0{m}"),
        m if m.ends_with('.') => format!("{m}0"),
        m => m.to_string(),
    };
    format!("{sign}{mantissa}{exponent}")
}

/// A name as a program writes it.
pub(crate) fn symbol(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.!?*+/<>=:$%&^~".contains(c);
    let number = name.starts_with(|c: char| c.is_ascii_digit() || ".+-".contains(c));
    if !name.is_empty() && name.chars().all(plain) && !number {
        return name.to_string();
    }
    format!("|{}|", name.replace('\\', "\\\\").replace('|', "\\|"))
}

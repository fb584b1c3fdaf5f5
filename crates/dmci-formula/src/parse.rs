//! Formulas from tokens, by precedence climbing.

use crate::expr::{BinaryOp, Expr};
use crate::functions::{function, nearest};
use crate::token::{Token, tokens};
use crate::{Formula, FormulaError};
use std::ops::Range;

/// How deeply a formula may be nested.
const DEPTH: usize = 200;

/// Reads `BODY` or `TARGET ~ BODY`.
pub fn formula(text: &str) -> Result<Formula, FormulaError> {
    let mut parser = Parser::new(text)?;
    let first = parser.number()?;
    let formula = match parser.accept("~") {
        true => Formula { target: Some(first), body: parser.number()? },
        false => Formula { target: None, body: first },
    };
    parser.end()?;
    Ok(formula)
}

/// A text that is being read.
pub struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'t str) -> Result<Parser<'t>, FormulaError> {
        Ok(Parser { text, tokens: tokens(text)?, next: 0, depth: 0 })
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    fn place(&self) -> Range<usize> {
        self.tokens.get(self.next).map_or(self.text.len()..self.text.len(), |(_, at)| at.clone())
    }

    /// Takes a sign, if it comes next.
    pub fn accept(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.next += usize::from(found);
        found
    }

    /// Takes a name, if one comes next.
    pub fn name(&mut self) -> Result<String, FormulaError> {
        if let Some(Token::Name(name)) = self.peek() {
            let name = name.clone();
            self.next += 1;
            return Ok(name);
        }
        Err(self.unexpected("a name"))
    }

    fn unexpected(&self, wanted: &str) -> FormulaError {
        let found = match self.peek() {
            None => "the formula ends".to_string(),
            Some(_) => format!("{} stands", &self.text[self.place()]),
        };
        let place = self.place();
        FormulaError::new(place, format!("{found} where {wanted} is expected"), "complete the expression")
    }

    /// Fails unless everything was read.
    pub fn end(&self) -> Result<(), FormulaError> {
        let Some(token) = self.peek() else { return Ok(()) };
        let place = self.place();
        let found = &self.text[place.clone()];
        Err(match token {
            Token::Sign(")") => FormulaError::new(place, "this ) closes nothing", "remove it, or open a ( before"),
            Token::Sign(",") => {
                let help = "write numbers with a decimal point, 1.5; a comma separates the arguments of a function";
                FormulaError::new(place, "a comma stands outside of a call", help)
            }
            Token::Sign("=") => {
                FormulaError::new(place, "= does not compare", "write == to compare, ~ to name a target")
            }
            Token::Sign("~") => FormulaError::new(place, "a second ~ has no meaning", "write TARGET ~ FORMULA once"),
            _ => {
                let before = self.next.checked_sub(1).map_or("", |i| &self.text[self.tokens[i].1.clone()]);
                let help = format!("if you mean a product, write {before}*{found}");
                FormulaError::new(place, format!("{found} follows {before} without an operator"), help)
            }
        })
    }

    /// An expression that gives a number.
    pub fn number(&mut self) -> Result<Expr, FormulaError> {
        let start = self.place().start;
        let expr = self.expression(0)?;
        self.wanted(expr, start, false)
    }

    /// Fails if a condition stands where a number is expected, or a number where a condition is.
    fn wanted(&self, expr: Expr, start: usize, condition: bool) -> Result<Expr, FormulaError> {
        if expr.is_condition() == condition {
            return Ok(expr);
        }
        let end = self.next.checked_sub(1).map_or(start, |i| self.tokens[i].1.end);
        Err(match condition {
            true => FormulaError::new(start..end, "a number stands where a condition is expected", "compare it: x > 0"),
            false => FormulaError::new(
                start..end,
                "a condition stands where a number is expected",
                "write if(condition, number, number)",
            ),
        })
    }

    fn operator(&self) -> Option<BinaryOp> {
        Some(match self.peek()? {
            Token::Sign(sign) => match *sign {
                "+" => BinaryOp::Add,
                "-" => BinaryOp::Sub,
                "*" => BinaryOp::Mul,
                "/" => BinaryOp::Div,
                "^" => BinaryOp::Pow,
                "<" => BinaryOp::Less,
                "<=" => BinaryOp::LessEqual,
                ">" => BinaryOp::Greater,
                ">=" => BinaryOp::GreaterEqual,
                "==" => BinaryOp::Equal,
                "!=" => BinaryOp::NotEqual,
                "&&" => BinaryOp::And,
                "||" => BinaryOp::Or,
                _ => return None,
            },
            Token::Name(name) if name == "and" => BinaryOp::And,
            Token::Name(name) if name == "or" => BinaryOp::Or,
            _ => return None,
        })
    }

    /// An expression whose operators bind at least so tightly.
    pub fn expression(&mut self, least: u8) -> Result<Expr, FormulaError> {
        self.depth += 1;
        if self.depth > DEPTH {
            let message = format!("the formula is nested more than {DEPTH} levels deep");
            return Err(FormulaError::new(self.place(), message, "write it as a program with (define ...)"));
        }
        let start = self.place().start;
        let mut left = self.prefixed()?;
        let mut previous: Option<Expr> = None;
        while let Some(op) = self.operator() {
            let (_, _, binds) = op.row();
            if binds < least {
                break;
            }
            let logical = matches!(op, BinaryOp::And | BinaryOp::Or);
            if !op.is_comparison() {
                left = self.wanted(left, start, logical)?;
            }
            self.next += 1;
            let right_start = self.place().start;
            // Powers group to the right, everything else to the left.
            let right = self.expression(if op == BinaryOp::Pow { binds } else { binds + 1 })?;
            let right = self.wanted(right, right_start, logical)?;
            left = match (op.is_comparison(), left, previous.take()) {
                // 0 < x < 1 compares twice.
                (true, chain, Some(middle)) => {
                    previous = Some(right.clone());
                    let second = Expr::Binary(op, Box::new(middle), Box::new(right));
                    Expr::Binary(BinaryOp::And, Box::new(chain), Box::new(second))
                }
                (true, left, None) => {
                    let left = self.wanted(left, start, false)?;
                    previous = Some(right.clone());
                    Expr::Binary(op, Box::new(left), Box::new(right))
                }
                (false, left, _) => Expr::Binary(op, Box::new(left), Box::new(right)),
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    /// An expression with signs before it. They bind less than a power: -x^2 is -(x^2).
    fn prefixed(&mut self) -> Result<Expr, FormulaError> {
        let start = self.place().start;
        if self.accept("+") {
            let expr = self.expression(7)?;
            return self.wanted(expr, start, false);
        }
        if self.accept("-") {
            let expr = self.expression(7)?;
            return Ok(match self.wanted(expr, start, false)? {
                Expr::Number(text) => Expr::Number(format!("-{text}")),
                expr => Expr::Negative(Box::new(expr)),
            });
        }
        let is_not = matches!(self.peek(), Some(Token::Name(name)) if name == "not");
        if is_not || matches!(self.peek(), Some(Token::Sign("!"))) {
            self.next += 1;
            let expr = self.expression(4)?;
            return Ok(Expr::Not(Box::new(self.wanted(expr, start, true)?)));
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expr, FormulaError> {
        let place = self.place();
        match self.peek().cloned() {
            Some(Token::Number(text)) => {
                self.next += 1;
                Ok(Expr::Number(text))
            }
            Some(Token::Name(name)) => {
                self.next += 1;
                match self.accept("(") {
                    true => self.call(&name, place),
                    false => Ok(Expr::Name(name)),
                }
            }
            Some(Token::Sign("(")) => {
                self.next += 1;
                let inner = self.expression(0)?;
                self.close(place)?;
                Ok(inner)
            }
            _ => Err(self.unexpected("a number, a name or a call")),
        }
    }

    fn close(&mut self, opened: Range<usize>) -> Result<(), FormulaError> {
        if self.accept(")") {
            return Ok(());
        }
        match self.peek() {
            None => Err(FormulaError::new(opened, "this ( is never closed", "add the missing )")),
            Some(_) => match self.end() {
                Err(error) => Err(error),
                Ok(()) => Err(self.unexpected(")")),
            },
        }
    }

    /// A call whose ( was read.
    fn call(&mut self, name: &str, place: Range<usize>) -> Result<Expr, FormulaError> {
        let is_if = matches!(name, "if" | "ifelse" | "where" | "np.where" | "jnp.where");
        let known = function(name);
        if !is_if && known.is_none() {
            let help = match nearest(name) {
                Some(near) => format!("did you mean {near}? If {name} is a number, write {name}*(...)"),
                None => format!("if {name} is a number, write {name}*(...); for functions of your own write a program"),
            };
            return Err(FormulaError::new(place, format!("there is no function {name}"), help));
        }
        let mut arguments = Vec::new();
        if !self.accept(")") {
            loop {
                let start = self.place().start;
                let argument = self.expression(0)?;
                arguments.push(self.wanted(argument, start, is_if && arguments.is_empty())?);
                if !self.accept(",") {
                    break;
                }
            }
            self.close(place.clone())?;
        }
        let count = arguments.len();
        let number = |n: usize| if n == 1 { "1 argument".to_string() } else { format!("{n} arguments") };
        match known {
            None => match <[Expr; 3]>::try_from(arguments) {
                Ok(parts) => Ok(Expr::If(Box::new(parts))),
                Err(_) => {
                    let message = format!("{name} takes a condition and two numbers, got {}", number(count));
                    Err(FormulaError::new(place, message, "write if(x < 1, a, b)"))
                }
            },
            Some(function) if (function.least..=function.most).contains(&count) => Ok(Expr::Call(function, arguments)),
            Some(function) => {
                let takes = match (function.least, function.most) {
                    (least, most) if least == most => number(least),
                    (least, usize::MAX) => format!("at least {}", number(least)),
                    (least, most) => format!("{least} to {}", number(most)),
                };
                let message = format!("{name} takes {takes}, got {count}");
                Err(FormulaError::new(place, message, "add or remove arguments"))
            }
        }
    }
}

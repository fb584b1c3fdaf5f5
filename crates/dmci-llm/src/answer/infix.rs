//! Formulas as expressions in parentheses.

use super::tokens::{Token, tokens};
use super::{Form, Hints, Reading, latex};
use std::collections::BTreeMap;

/// What the names of a formula mean, and the parameters that were found.
#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    pub inputs: &'a [String],
    /// Names that stand for expressions.
    pub known: BTreeMap<String, String>,
    /// Parameters with their starts, in the order of use.
    pub parameters: Vec<(String, f64)>,
    /// Whether letters beside each other are a product, and `a(x)` too, as on paper.
    pub on_paper: bool,
}

/// Nesting of a formula at most.
const DEEPEST: usize = 200;

/// Bytes of an expression at most: what is assigned once is written out wherever it is used.
const LONGEST: usize = 20_000;

impl Scope<'_> {
    /// The expression of a formula.
    pub fn expression(&mut self, text: &str) -> Result<String, String> {
        let tokens = tokens(text)?;
        let mut parser = Parser { scope: self, tokens: &tokens, at: 0, depth: 0 };
        let found = parser.choice()?;
        match parser.peek() {
            None => Ok(found),
            Some(token) => Err(format!("the formula goes on with {}", shown(token))),
        }
    }

    /// The program of an expression: a schema for the parameters that it mentions.
    pub fn program(&self, body: &str) -> String {
        let words: Vec<&str> = body.split(['(', ')', ' ']).collect();
        let used = self.parameters.iter().filter(|(name, _)| words.contains(&name.as_str()));
        let entries: Vec<String> = used.map(|(name, start)| format!("({name} free {start:?})")).collect();
        if entries.is_empty() { body.to_string() } else { format!("(params {})\n{body}", entries.join(" ")) }
    }

    /// A name: an input, something assigned, or a parameter.
    fn name(&mut self, name: &str) -> String {
        if self.inputs.iter().any(|i| i == name) {
            return name.to_string();
        }
        if let Some(text) = self.known.get(name) {
            return text.clone();
        }
        let name = legal(name);
        if !self.parameters.iter().any(|(n, _)| *n == name) {
            self.parameters.push((name.clone(), 1.0));
        }
        name
    }
}

/// A name that a program may bind.
pub fn legal(name: &str) -> String {
    name.trim_start_matches("self.").replace(['.', '\''], "_")
}

fn shown(token: &Token) -> String {
    match token {
        Token::Number(_, text) => text.clone(),
        Token::Name(name) => name.clone(),
        Token::Mark(mark) => (*mark).to_string(),
    }
}

struct Parser<'p, 's> {
    scope: &'p mut Scope<'s>,
    tokens: &'p [Token],
    at: usize,
    depth: usize,
}

impl Parser<'_, '_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn takes(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Mark(m)) if *m == mark);
        self.at += usize::from(found);
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name(n)) if n == word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &str) -> Result<(), String> {
        if self.takes(mark) {
            return Ok(());
        }
        Err(self
            .peek()
            .map_or(format!("the formula ends before {mark}"), |t| format!("{mark} was expected, got {}", shown(t))))
    }

    fn operands(&self, head: &str, parts: &[&str]) -> Result<String, String> {
        let text = format!("({head} {})", parts.join(" "));
        if text.len() > LONGEST { Err("the formula is too long when written out".into()) } else { Ok(text) }
    }

    /// `a if c else b`, or `c ? a : b`.
    fn choice(&mut self) -> Result<String, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the formula is nested too deeply".into());
        }
        let first = self.comparison()?;
        let found = if self.takes_word("if") {
            let test = self.comparison()?;
            if !self.takes_word("else") {
                return Err("an if in a formula needs an else".into());
            }
            let other = self.choice()?;
            self.operands("if", &[&test, &first, &other])?
        } else if self.takes("?") {
            let yes = self.choice()?;
            self.expect(":")?;
            let no = self.choice()?;
            self.operands("if", &[&first, &yes, &no])?
        } else {
            first
        };
        self.depth -= 1;
        Ok(found)
    }

    fn comparison(&mut self) -> Result<String, String> {
        let left = self.sum()?;
        for (mark, head) in [("<=", "<="), (">=", ">="), ("==", "="), ("<", "<"), (">", ">")] {
            if self.takes(mark) {
                let right = self.sum()?;
                return self.operands(head, &[&left, &right]);
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<String, String> {
        let mut left = self.product()?;
        loop {
            let head = if self.takes("+") {
                "+"
            } else if self.takes("-") {
                "-"
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.operands(head, &[&left, &right])?;
        }
    }

    fn product(&mut self) -> Result<String, String> {
        let mut left = self.signed()?;
        loop {
            let head = if self.takes("*") {
                "*"
            } else if self.takes("/") {
                "/"
            } else if self.begins_factor() {
                "*"
            } else {
                return Ok(left);
            };
            let right = self.signed()?;
            left = self.operands(head, &[&left, &right])?;
        }
    }

    /// Whether a factor follows without a sign in between, as people write.
    fn begins_factor(&self) -> bool {
        match self.peek() {
            Some(Token::Name(name)) => {
                self.scope.on_paper && !matches!(name.as_str(), "if" | "else" | "for" | "and" | "or")
            }
            Some(Token::Mark("(")) => self.scope.on_paper,
            _ => false,
        }
    }

    fn signed(&mut self) -> Result<String, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the formula is nested too deeply".into());
        }
        let found = if self.takes("-") {
            let operand = self.signed()?;
            // A negative number is a number.
            if operand.parse::<f64>().is_ok_and(|x| x > 0.0) {
                format!("-{operand}")
            } else {
                self.operands("-", &[&operand])?
            }
        } else if self.takes("+") {
            self.signed()?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn power(&mut self) -> Result<String, String> {
        let is_e = matches!(self.peek(), Some(Token::Name(n)) if matches!(n.as_str(), "e" | "E" | "np.e" | "math.e")
            && !self.scope.inputs.contains(n) && !self.scope.known.contains_key(n));
        if is_e && matches!(self.tokens.get(self.at + 1), Some(Token::Mark("^" | "**"))) {
            self.at += 2;
            let exponent = self.signed()?;
            return self.operands("exp", &[&exponent]);
        }
        let base = self.primary()?;
        if !(self.takes("^") || self.takes("**")) {
            return Ok(base);
        }
        let exponent = self.signed()?;
        match exponent.as_str() {
            "2" | "2.0" => self.operands("square", &[&base]),
            "3" | "3.0" => self.operands("cube", &[&base]),
            "0.5" => self.operands("sqrt", &[&base]),
            _ => self.operands("expt", &[&base, &exponent]),
        }
    }

    fn primary(&mut self) -> Result<String, String> {
        let token = self.peek().cloned().ok_or("the formula ends too early")?;
        self.at += 1;
        match token {
            Token::Number(_, text) => {
                Ok(if text.starts_with('.') { format!("0{text}") } else { text.trim_end_matches('.').to_string() })
            }
            Token::Mark("(") | Token::Mark("{") => {
                let found = self.choice()?;
                if !self.takes("}") {
                    self.expect(")")?;
                }
                Ok(found)
            }
            Token::Name(name) => self.named(&name),
            other => Err(format!("{} was not expected", shown(&other))),
        }
    }

    fn named(&mut self, name: &str) -> Result<String, String> {
        if matches!(self.peek(), Some(Token::Mark("["))) {
            return self.element(name);
        }
        let bare = without_module(name);
        if matches!(bare, "pi" | "π") && !self.scope.inputs.iter().any(|i| i == name) {
            return Ok("3.141592653589793".into());
        }
        let follows = matches!(self.peek(), Some(Token::Mark("(")));
        if let Some(operation) = operation(bare) {
            if follows {
                return self.call(operation);
            }
            // sin x, as on paper.
            if self.scope.on_paper
                && self.begins_factor() | matches!(self.peek(), Some(Token::Number(..)))
                && operation.arity == 1
            {
                let operand = self.power()?;
                return operation.apply(&[operand], self);
            }
        }
        let input = self.scope.inputs.iter().any(|i| i == name);
        let bound = input || self.scope.known.contains_key(name);
        if follows && !self.scope.on_paper {
            return Err(format!("{name} is not an operation of dmci"));
        }
        if !bound && self.scope.on_paper {
            // bx is b times x.
            let split = self.scope.inputs.iter().find_map(|i| name.strip_suffix(i.as_str()));
            if let Some(first) = split.filter(|f| f.chars().count() == 1)
                && operation(bare).is_none()
            {
                let input = name[first.len()..].to_string();
                let first = self.scope.name(first);
                return self.operands("*", &[&first, &input]);
            }
        }
        Ok(self.scope.name(name))
    }

    /// `params[0]`, `c[1]`, `X[:, 0]`.
    fn element(&mut self, name: &str) -> Result<String, String> {
        self.expect("[")?;
        let mut index = None;
        while !self.takes("]") {
            match self.peek() {
                Some(Token::Number(x, _)) if x.fract() == 0.0 && *x >= 0.0 && *x < 100.0 => index = Some(*x as usize),
                Some(Token::Mark(":" | ",")) => {}
                Some(Token::Name(word)) => {
                    // params["a"] was read without its quotes.
                    let word = word.clone();
                    self.at += 1;
                    self.expect("]")?;
                    return Ok(self.scope.name(&word));
                }
                _ => return Err(format!("an element of {name} needs a number")),
            }
            self.at += 1;
        }
        let index = index.ok_or_else(|| format!("an element of {name} needs a number"))?;
        let is_table = matches!(name, "x" | "X" | "inputs" | "data" | "features" | "row");
        if is_table {
            let many = self.scope.inputs.len();
            return self
                .scope
                .inputs
                .get(index)
                .cloned()
                .ok_or_else(|| format!("there are {many} inputs, not {}", index + 1));
        }
        let short =
            if matches!(name, "params" | "parameters" | "theta" | "theta_" | "self.params") { "p" } else { name };
        Ok(self.scope.name(&format!("{short}{index}")))
    }

    fn call(&mut self, operation: Operation) -> Result<String, String> {
        self.expect("(")?;
        let mut operands = Vec::new();
        while !self.takes(")") {
            operands.push(self.choice()?);
            if !self.takes(",") {
                self.expect(")")?;
                break;
            }
        }
        operation.apply(&operands, self)
    }
}

fn without_module(name: &str) -> &str {
    let modules = [
        "np.",
        "numpy.",
        "jnp.",
        "math.",
        "torch.",
        "Math.",
        "tf.math.",
        "tf.",
        "scipy.special.",
        "sp.",
        "F.",
        "cmath.",
    ];
    modules.iter().find_map(|m| name.strip_prefix(m)).unwrap_or(name)
}

/// An operation by the name that other languages give it.
#[derive(Clone, Copy)]
struct Operation {
    /// `_` is the operand, for what is no single operation.
    text: &'static str,
    arity: usize,
}

impl Operation {
    fn apply(self, operands: &[String], parser: &Parser<'_, '_>) -> Result<String, String> {
        if operands.len() != self.arity
            && !(self.arity == 2 && operands.len() > 2 && matches!(self.text, "min" | "max"))
        {
            return Err(format!("{} takes {} operands, got {}", self.text, self.arity, operands.len()));
        }
        if self.text.contains('_') {
            let text = self.text.replace('_', &operands[0]);
            return if text.len() > LONGEST { Err("the formula is too long".into()) } else { Ok(text) };
        }
        parser.operands(self.text, &operands.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn operation(name: &str) -> Option<Operation> {
    let (text, arity) = match name {
        "exp" | "sqrt" | "cbrt" | "sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "abs" | "sigmoid" | "softplus"
        | "erf" | "log1p" | "expm1" | "square" | "cube" | "asin" | "acos" | "atan" => {
            const NAMES: [&str; 20] = [
                "exp", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "abs", "sigmoid", "softplus",
                "erf", "log1p", "expm1", "square", "cube", "asin", "acos", "atan",
            ];
            (*NAMES.iter().find(|n| **n == name)?, 1)
        }
        "log" | "ln" => ("log", 1),
        "fabs" | "absolute" => ("abs", 1),
        "arcsin" => ("asin", 1),
        "arccos" => ("acos", 1),
        "arctan" => ("atan", 1),
        "expit" | "logistic" => ("sigmoid", 1),
        "relu" => ("(max 0.0 _)", 1),
        "reciprocal" => ("(/ 1.0 _)", 1),
        "log10" => ("(/ (log _) (log 10.0))", 1),
        "log2" => ("(/ (log _) (log 2.0))", 1),
        "float" | "float64" | "array" | "asarray" | "Float64" => ("_", 1),
        "pow" | "power" | "expt" => ("expt", 2),
        "min" | "minimum" | "fmin" => ("min", 2),
        "max" | "maximum" | "fmax" => ("max", 2),
        "where" => ("if", 3),
        _ => return None,
    };
    Some(Operation { text, arity })
}

/// Reads a line of text as a formula, if it looks like one: `y = a * exp(-b * x)`, also between dollars or after words.
pub fn read_line(line: &str, hints: &Hints<'_>, reading: &mut Reading) {
    let line = line.trim().trim_start_matches(['-', '*', '>', '•']).trim();
    let line = line.trim_matches(['`', '$', '*']).trim();
    let numbered = line.split_once(['.', ')', ':']).filter(|(n, _)| n.len() < 4 && n.parse::<u32>().is_ok());
    let line = numbered.map_or(line, |(_, rest)| rest.trim()).trim_matches(['`', '$']).trim();
    let Some((left, right)) = line.split_once('=') else { return };
    if right.starts_with('=') || left.ends_with(['<', '>', '!']) {
        return;
    }
    // The left side is a name, perhaps with arguments, perhaps behind some words.
    let left = left.trim().trim_end_matches(['`', '$', ':']).trim();
    let name = left.rsplit([' ', '\t', '`', '$']).next().unwrap_or("");
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '(' | ')' | ',' | '\\' | '{' | '}' | '^');
    if name.is_empty() || !name.chars().all(plain) || !name.starts_with(|c: char| c.is_alphabetic() || c == '\\') {
        return;
    }
    let right = right.split(['`', '$']).find(|part| !part.trim().is_empty()).unwrap_or("");
    let right = right.trim().trim_end_matches(['.', ',', ';']);
    // A sentence behind the formula.
    let right =
        [", where", " where ", " with ", " // ", " # "].iter().fold(right, |r, w| r.split(w).next().unwrap_or(r));
    let text = latex::plain(right);
    let mut scope = Scope { inputs: hints.inputs, on_paper: true, ..Scope::default() };
    let Ok(body) = scope.expression(&text) else { return };
    let words = || body.split(['(', ')', ' ']);
    let reads_input = hints.inputs.is_empty() || words().any(|w| hints.inputs.iter().any(|i| i == w));
    // A value of a parameter is no model.
    if body.contains('(') && reads_input {
        reading.add(scope.program(&body), Form::Translated, Some(format!("translated from the formula {right}")));
    }
}

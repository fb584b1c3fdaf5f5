//! An interpreter that walks the tree of a program: what experiment A calls hand-coded. It knows just enough
//! Scheme for the programs P1 to P6 and S3.

use super::tape::{Number, Tape};
use std::collections::HashMap;
use std::rc::Rc;

/// A tree of symbols and numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A number.
    Number(f64),
    /// A name.
    Symbol(String),
    /// A list.
    List(Vec<Tree>),
}

/// Reads all forms of a text.
pub fn parse(text: &str) -> Result<Vec<Tree>, String> {
    let lines = text.lines().map(|line| line.split(';').next().unwrap_or(""));
    let text = lines.collect::<Vec<_>>().join("\n").replace('(', " ( ").replace(')', " ) ");
    let mut stack: Vec<Vec<Tree>> = vec![Vec::new()];
    for token in text.split_whitespace() {
        match token {
            "(" => stack.push(Vec::new()),
            ")" => {
                let list = stack.pop().filter(|_| !stack.is_empty()).ok_or("a closing parenthesis too many")?;
                if let Some(outer) = stack.last_mut() {
                    outer.push(Tree::List(list));
                }
            }
            atom => {
                let tree = atom.parse().map_or_else(|_| Tree::Symbol(atom.into()), Tree::Number);
                if let Some(list) = stack.last_mut() {
                    list.push(tree);
                }
            }
        }
    }
    if stack.len() == 1 { Ok(stack.remove(0)) } else { Err("an open parenthesis".into()) }
}

#[derive(Clone)]
enum Value<'t> {
    Number(Number<'t>),
    Truth(bool),
    Primitive(String),
    Closure(Rc<Closure<'t>>),
}

struct Closure<'t> {
    names: Vec<String>,
    body: Tree,
    scope: Scope<'t>,
}

type Scope<'t> = Rc<Frame<'t>>;

/// One scope: its names, and the one around it.
struct Frame<'t> {
    names: HashMap<String, Value<'t>>,
    around: Option<Scope<'t>>,
}

/// What all scopes see: definitions, and names given from outside.
struct Walk<'t> {
    tape: &'t Tape,
    globals: HashMap<String, Value<'t>>,
}

/// The value of a program in which some names are numbers of a tape.
pub fn evaluate<'t>(tape: &'t Tape, forms: &[Tree], given: &[(&str, Number<'t>)]) -> Result<Number<'t>, String> {
    let globals = given.iter().map(|(name, number)| (name.to_string(), Value::Number(*number))).collect();
    let mut walk = Walk { tape, globals };
    let top: Scope = Rc::new(Frame { names: HashMap::new(), around: None });
    let mut last = Err("no value".to_string());
    for form in forms {
        match form {
            Tree::List(list) if list.first() == Some(&Tree::Symbol("params".into())) => {}
            Tree::List(list) if list.first() == Some(&Tree::Symbol("define".into())) => walk.define(list, &top)?,
            form => last = walk.value(form, &top),
        }
    }
    match last? {
        Value::Number(number) => Ok(number),
        _ => Err("the program gives no number".into()),
    }
}

impl<'t> Walk<'t> {
    fn define(&mut self, list: &[Tree], top: &Scope<'t>) -> Result<(), String> {
        let (name, value) = match list {
            [_, Tree::Symbol(name), value] => (name.clone(), self.value(value, top)?),
            [_, Tree::List(head), body] => {
                let mut names = symbols(head)?;
                let name = names.remove(0);
                (name, Value::Closure(Rc::new(Closure { names, body: body.clone(), scope: top.clone() })))
            }
            _ => return Err("an unknown define".into()),
        };
        self.globals.insert(name, value);
        Ok(())
    }

    fn value(&self, tree: &Tree, scope: &Scope<'t>) -> Result<Value<'t>, String> {
        let list = match tree {
            Tree::Number(x) => return Ok(Value::Number(self.tape.constant(*x))),
            Tree::Symbol(name) => return self.look_up(name, scope),
            Tree::List(list) => list,
        };
        match list.as_slice() {
            [Tree::Symbol(word), test, yes, no] if word == "if" => match self.value(test, scope)? {
                Value::Truth(false) => self.value(no, scope),
                _ => self.value(yes, scope),
            },
            [Tree::Symbol(word), Tree::List(names), body] if word == "lambda" => {
                let names = symbols(names)?;
                Ok(Value::Closure(Rc::new(Closure { names, body: body.clone(), scope: scope.clone() })))
            }
            [operator, operands @ ..] => {
                let operator = self.value(operator, scope)?;
                let operands = operands.iter().map(|o| self.value(o, scope)).collect::<Result<Vec<_>, _>>()?;
                self.apply(operator, operands)
            }
            [] => Err("an empty application".into()),
        }
    }

    fn look_up(&self, name: &str, scope: &Scope<'t>) -> Result<Value<'t>, String> {
        let mut frame = Some(scope);
        while let Some(here) = frame {
            if let Some(value) = here.names.get(name) {
                return Ok(value.clone());
            }
            frame = here.around.as_ref();
        }
        match self.globals.get(name) {
            Some(value) => Ok(value.clone()),
            None if ["+", "-", "*", "/", "=", "<"].contains(&name) => Ok(Value::Primitive(name.into())),
            None => Err(format!("{name} is not defined")),
        }
    }

    fn apply(&self, operator: Value<'t>, operands: Vec<Value<'t>>) -> Result<Value<'t>, String> {
        match operator {
            Value::Closure(closure) => {
                let names = closure.names.iter().cloned().zip(operands).collect();
                let scope = Rc::new(Frame { names, around: Some(closure.scope.clone()) });
                self.value(&closure.body, &scope)
            }
            Value::Primitive(name) => {
                let number = |value: &Value<'t>| match value {
                    Value::Number(number) => Ok(*number),
                    _ => Err(format!("{name} got no number")),
                };
                let [a, b] = &operands[..] else { return Err(format!("{name} takes two numbers")) };
                let (a, b) = (number(a)?, number(b)?);
                Ok(match name.as_str() {
                    "+" => Value::Number(a + b),
                    "-" => Value::Number(a - b),
                    "*" => Value::Number(a * b),
                    "/" => Value::Number(a / b),
                    "=" => Value::Truth(a.value == b.value),
                    _ => Value::Truth(a.value < b.value),
                })
            }
            _ => Err("only procedures can be applied".into()),
        }
    }
}

fn symbols(list: &[Tree]) -> Result<Vec<String>, String> {
    let name = |tree: &Tree| match tree {
        Tree::Symbol(name) => Ok(name.clone()),
        _ => Err("a name was expected".to_string()),
    };
    list.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_closures_and_branches_are_walked() {
        let value = |text: &str| {
            let tape = Tape::new(false);
            let x = tape.leaf(3.0);
            evaluate(&tape, &parse(text).unwrap(), &[("x", x)]).map(|n| n.value)
        };
        assert_eq!(value("(define (p x n) (if (= n 0) 0 (+ (* 2 x) (p x (- n 1))))) (p x 3)"), Ok(18.0));
        assert_eq!(value("(define (twice f x) (f (f x))) (twice (lambda (y) (+ y 1.5)) x)"), Ok(6.0));
        assert_eq!(value("(if (< x 3) 1 2)"), Ok(2.0));
        assert_eq!(value("(f x)"), Err("f is not defined".into()));
    }
}

//! Which keyword is expanded by what, and the forms that need no more than a line.

use super::expander::{Expander, Meaning};
use super::keywords::Special;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, SpanId, Symbol, Value};

impl Expander<'_> {
    /// Expands a form that starts with a keyword, as an expression.
    pub fn special(&mut self, special: Special, form: Value, at: SpanId, tail: bool) -> Result<Value, Error> {
        match special {
            Special::Quote => self.quote_form(form),
            Special::Quasiquote => self.quasiquote_form(form),
            Special::If => self.if_form(form, tail),
            Special::Cond => self.cond_form(form, tail),
            Special::Case => self.case_form(form, tail),
            Special::And => self.and_form(form, tail),
            Special::Or => self.or_form(form, tail),
            Special::When => self.when_form(form, true, tail),
            Special::Unless => self.when_form(form, false, tail),
            Special::Let => self.let_form(form, tail),
            Special::LetStar => self.let_star_form(form, tail),
            Special::Letrec | Special::LetrecStar => self.letrec_form(form, tail),
            Special::Do => self.do_form(form, tail),
            Special::Lambda => self.lambda_form(form),
            Special::NamedLambda => self.named_lambda_form(form),
            Special::CaseLambda => self.case_lambda_form(form),
            Special::Set => self.set_form(form),
            Special::Begin => self.begin_form(form, tail),
            Special::LetValues => self.let_values_form(form, tail),
            Special::LetStarValues => self.let_star_values_form(form, tail),
            Special::Receive => self.receive_form(form, tail),
            Special::Delay => self.delay_form(form, true),
            Special::DelayForce => self.delay_form(form, false),
            Special::ConsStream => self.cons_stream_form(form),
            Special::Parameterize => self.parameterize_form(form),
            Special::FluidLet => self.fluid_let_form(form),
            Special::Guard => self.guard_form(form),
            Special::Assert => self.assert_form(form),
            Special::LetSyntax => self.let_syntax_form(form, false, tail),
            Special::LetrecSyntax => self.let_syntax_form(form, true, tail),
            Special::SyntaxError => Err(self.syntax_error(form)),
            Special::CondExpand => {
                let chosen = self.cond_expand(form)?;
                match self.sequence(chosen, self.heap.place(form), tail) {
                    Some(core) => Ok(core),
                    None => Ok(self.nothing()),
                }
            }
            Special::Loop => self.loop_form(form, tail),
            Special::Recur => self.recur_form(form, tail),
            Special::TheEnvironment => self.the_environment_form(form),
            Special::Result => self.result_form(form),
            Special::Hole => self.hole_form(form, tail),
            Special::Define
            | Special::DefineValues
            | Special::DefineRecordType
            | Special::DefineSyntax
            | Special::Import
            | Special::DefineLibrary
            | Special::Include
            | Special::Params => Err(self.out_of_place(special, form)),
            Special::SyntaxRules => {
                let error = Diagnostic::error(
                    ErrorCode::E0204,
                    "`syntax-rules` is not an expression: it says what a macro does",
                );
                Err(self.at_form(error, form).help("use it as the value of define-syntax, let-syntax or letrec-syntax"))
            }
            Special::Auxiliary => {
                let symbol = self.heap.car(form).and_then(Value::as_symbol).unwrap_or(self.k.else_);
                let at = if self.heap.place(form) == SpanId(0) { at } else { self.heap.place(form) };
                Err(self.keyword_as_variable(symbol, at))
            }
        }
    }

    /// The error for a form that belongs to the top level or to a body.
    pub fn out_of_place(&self, special: Special, form: Value) -> Error {
        let name = self.heap.car(form).and_then(Value::as_symbol).map_or("define", |s| self.base_name(s));
        let (code, message, help) = match special {
            Special::Import => (
                ErrorCode::E0207,
                "`import` stands only at top level".into(),
                "move it to the beginning of the program",
            ),
            Special::DefineLibrary => {
                (ErrorCode::E0210, "`define-library` is not supported".into(), "write its definitions at top level")
            }
            Special::Include => (
                ErrorCode::E0214,
                "a program does no input, so it cannot include files".into(),
                "put the text of the file into the program",
            ),
            Special::Params => (
                ErrorCode::E0211,
                "`params` stands only at top level".into(),
                "move it to the beginning of the program",
            ),
            _ => (
                ErrorCode::E0206,
                format!("`{name}` is a definition and cannot be used as an expression"),
                "put it at top level or into a body, or use let for a local variable",
            ),
        };
        self.at_form(Diagnostic::error(code, message), form).help(help)
    }

    fn quote_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 1, 1)?;
        let datum = self.heap.car(operands).unwrap_or(Value::NIL);
        let stripped = self.strip(datum);
        if stripped == datum && self.heap.car(form) == Some(Value::symbol(self.k.quote)) {
            return Ok(form);
        }
        Ok(self.quoted(stripped, self.heap.place(form)))
    }

    fn begin_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 1, usize::MAX)?;
        self.sequence(operands, self.heap.place(form), tail).ok_or_else(|| self.wrong_shape(form))
    }

    fn set_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, target) = self.operands_of(form, 2, 2)?;
        let Some(symbol) = self.heap.car(target).and_then(Value::as_symbol) else {
            return Err(self.wrong_part(form, "a variable name", target));
        };
        let value = self.heap.cdr(target).unwrap_or(Value::NIL);
        let global = match self.meaning(symbol) {
            Meaning::Local(name) => Err(name),
            Meaning::Global(name) => Ok(name),
            Meaning::Special(special) if special.only_at_head() => Ok(self.heap.symbols.base_of(symbol)),
            _ => return Err(self.keyword_as_variable(symbol, self.heap.place(target))),
        };
        let name = match global {
            Err(local) => local,
            Ok(name) => {
                self.check_reserved(name, self.heap.place(target))?;
                self.assigned.push(name);
                // Right after `set!` a core keyword is no keyword; only local variables hide the global.
                if self.k.is_core(name) && symbol == name { name } else { self.global_name(symbol, name) }
            }
        };
        self.mention(name);
        let core = self.expand_car(value, false);
        let list = self.heap.cons_at(core, Value::NIL, self.heap.place(value));
        let list = self.heap.cons_at(Value::symbol(name), list, self.heap.place(target));
        Ok(self.heap.cons_at(Value::symbol(self.k.set), list, self.heap.place(form)))
    }

    fn the_environment_form(&mut self, form: Value) -> Result<Value, Error> {
        self.operands_of(form, 0, 0)?;
        let procedure = self.library(self.k.interaction_environment);
        Ok(self.list_at(&[procedure], self.heap.place(form)))
    }

    fn syntax_error(&self, form: Value) -> Error {
        let mut parts = self.heap.list_items(form).unwrap_or_default().into_iter().skip(1);
        let mut message = match parts.next() {
            Some(v) => self.heap.text(v).unwrap_or_else(|| self.shown(v)),
            None => return self.wrong_shape(form),
        };
        for part in parts {
            message.push(' ');
            message.push_str(&self.shown(part));
        }
        self.at_form(Diagnostic::error(ErrorCode::E0201, message), form)
    }

    /// The number of operands, if it is right, and their list.
    pub fn operands_of(&self, form: Value, least: usize, most: usize) -> Result<(usize, Value), Error> {
        match self.length(form) {
            Some(n) if n > least && n - 1 <= most => Ok((n - 1, self.heap.cdr(form).unwrap_or(Value::NIL))),
            _ => Err(self.wrong_shape(form)),
        }
    }

    /// An error if programs must not define or assign this name.
    pub fn check_reserved(&self, name: Symbol, at: SpanId) -> Result<(), Error> {
        if !self.table.is_reserved(name) {
            return Ok(());
        }
        let shown = self.heap.symbols.name(name);
        let error =
            Diagnostic::error(ErrorCode::E0213, format!("`{shown}` is a name of the system and cannot be changed"));
        Err(self.at_car(error, at).help("choose a name that does not start with %"))
    }
}

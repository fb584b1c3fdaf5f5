//! Filling in the template of a macro: variables are replaced, every other symbol is renamed.

use super::expander::Expander;
use super::matcher::{Match, Matches};
use super::syntax_rules::Rules;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, SpanId, Symbol, Value};

/// Pairs (and aliases, which count for more) that all macro uses of a program may make.
const MAX_PRODUCED: usize = 5_000_000;

/// What an alias takes beside its heap, in bytes: its name and its entry.
const ALIAS_BYTES: usize = 96;

/// One use of one rule.
struct Filling<'m> {
    rules: Rules,
    /// Variables with their matches; inside a repetition, the current ones come last.
    variables: Vec<(Symbol, &'m Match)>,
    /// Symbols of the template with their aliases.
    renamed: Vec<(Symbol, Symbol)>,
    place: SpanId,
}

impl Expander<'_> {
    /// The template with its variables replaced by what they matched in `form`.
    pub(super) fn fill_in(
        &mut self,
        rules: &Rules,
        template: Value,
        matches: &Matches,
        form: Value,
    ) -> Result<Value, Error> {
        let mut filling = Filling {
            rules: *rules,
            variables: matches.iter().map(|(symbol, found)| (*symbol, found)).collect(),
            renamed: Vec::new(),
            place: self.heap.place(form),
        };
        let result = self.fill(&mut filling, template, true)?;
        if self.produced > MAX_PRODUCED {
            self.stopped = true;
            return Err(self.endless());
        }
        Ok(result)
    }

    fn fill(&mut self, filling: &mut Filling<'_>, template: Value, active: bool) -> Result<Value, Error> {
        if !self.count_items(1) {
            return Ok(Value::NIL);
        }
        if let Some(symbol) = template.as_symbol() {
            return match filling.variables.iter().rev().find(|(name, _)| *name == symbol) {
                Some((_, Match::One(datum))) => Ok(*datum),
                Some((_, Match::Many(_))) => {
                    let shown = self.base_name(symbol);
                    Err(Diagnostic::error(
                        ErrorCode::E0204,
                        format!("`{shown}` repeats in the pattern but not in the template"),
                    ))
                }
                None => Ok(Value::symbol(self.rename(filling, symbol))),
            };
        }
        if let Some(r) = self.heap.as_kind(template, Kind::Vector) {
            let items: Vec<Value> = self.heap.fields(r).collect();
            let items = self.fill_items(filling, &items, active)?;
            self.produced += items.len();
            return Ok(self.heap.vector(&items));
        }
        if !template.is_pair() {
            return Ok(template);
        }
        let (items, tail) = self.spine(template)?;
        if active && items.len() == 2 && self.is_ellipsis(&filling.rules, items[0]) {
            return self.fill(filling, items[1], false);
        }
        let items = self.fill_items(filling, &items, active)?;
        let tail = self.fill(filling, tail, active)?;
        self.produced += items.len();
        Ok(items.iter().rev().fold(tail, |list, &item| self.heap.cons_at(item, list, filling.place)))
    }

    fn fill_items(&mut self, filling: &mut Filling<'_>, items: &[Value], active: bool) -> Result<Vec<Value>, Error> {
        let mut out = Vec::with_capacity(items.len());
        let mut i = 0;
        while i < items.len() {
            let repeats =
                items[i + 1..].iter().take_while(|&&next| active && self.is_ellipsis(&filling.rules, next)).count();
            if repeats == 0 {
                out.push(self.fill(filling, items[i], active)?);
            } else {
                let mut mentioned = Vec::new();
                self.mentioned(filling, items[i], &mut mentioned);
                self.fill_repeated(filling, items[i], &mentioned, repeats, &mut out)?;
            }
            i += 1 + repeats;
        }
        Ok(out)
    }

    /// Fills in a template once for each repetition of the variables that it mentions.
    fn fill_repeated(
        &mut self,
        filling: &mut Filling<'_>,
        template: Value,
        mentioned: &[Symbol],
        repeats: usize,
        out: &mut Vec<Value>,
    ) -> Result<(), Error> {
        if repeats == 0 {
            out.push(self.fill(filling, template, true)?);
            return Ok(());
        }
        let mut columns = Vec::new();
        for &symbol in mentioned {
            if let Some(&(_, Match::Many(rows))) = filling.variables.iter().rev().find(|(name, _)| *name == symbol) {
                columns.push((symbol, rows));
            }
        }
        let Some(count) = columns.first().map(|(_, rows)| rows.len()) else {
            return Err(Diagnostic::error(ErrorCode::E0204, "nothing before an ellipsis of the template repeats"));
        };
        if let Some((other, _)) = columns.iter().find(|(_, rows)| rows.len() != count) {
            let (first, other) = (self.base_name(columns[0].0), self.base_name(*other));
            return Err(Diagnostic::error(
                ErrorCode::E0203,
                format!("`{first}` and `{other}` match different numbers of parts but repeat together in the template"),
            ));
        }
        let base = filling.variables.len();
        for i in 0..count {
            filling.variables.extend(columns.iter().map(|&(symbol, rows)| (symbol, &rows[i])));
            self.fill_repeated(filling, template, mentioned, repeats - 1, out)?;
            filling.variables.truncate(base);
            if self.produced > MAX_PRODUCED {
                self.stopped = true;
                return Err(self.endless());
            }
        }
        Ok(())
    }

    /// The variables that a template mentions.
    fn mentioned(&self, filling: &Filling<'_>, template: Value, out: &mut Vec<Symbol>) {
        if let Some(symbol) = template.as_symbol() {
            if filling.variables.iter().any(|(name, _)| *name == symbol) && !out.contains(&symbol) {
                out.push(symbol);
            }
            return;
        }
        let Ok((items, tail)) = self.spine(template) else { return };
        items.iter().for_each(|&item| self.mentioned(filling, item, out));
        if self.is_part(tail) {
            self.mentioned(filling, tail, out);
        }
    }

    /// The alias of a symbol that the template inserts: one for each use of the macro.
    fn rename(&mut self, filling: &mut Filling<'_>, symbol: Symbol) -> Symbol {
        if let Some(&(_, alias)) = filling.renamed.iter().find(|(original, _)| *original == symbol) {
            return alias;
        }
        let alias = self.heap.symbols.alias(symbol);
        self.heap.charge_outside(ALIAS_BYTES);
        self.produced += 4;
        self.scopes.note_alias(alias, filling.rules.depth);
        filling.renamed.push((symbol, alias));
        alias
    }
}

//! Values for names as the command line gives them: `name=datum`.

use crate::datum::Datum;
use crate::report::Report;
use dmci_syntax::{printer, reader};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Origin, SourceId, Sources, Span, Value};

impl Datum {
    /// Reads a setting such as `x=1.5`, `names=(a b c)` or `greeting="hello"`: a name and one datum.
    /// A quotation mark before the datum is not needed, and changes nothing.
    pub fn parse_setting(text: &str) -> Result<(String, Datum), Report> {
        Setting { text, heap: Heap::new(), source: SourceId(0) }.parse().map_err(|diagnostics| {
            let mut sources = Sources::default();
            sources.add("‹set›", text, Origin::User);
            Report::new(diagnostics, sources)
        })
    }
}

struct Setting<'a> {
    text: &'a str,
    heap: Heap,
    source: SourceId,
}

impl Setting<'_> {
    fn parse(&mut self) -> Result<(String, Datum), Vec<Diagnostic>> {
        let equals = self.text.find('=').ok_or_else(|| vec![*self.usage("a setting needs a name and a value")])?;
        let name = self.name(&self.text[..equals]).map_err(|e| vec![*e])?;
        // Blanks for the name keep the places of what follows.
        let blanked = format!("{}{}", " ".repeat(equals + 1), &self.text[equals + 1..]);
        self.source = self.heap.sources.add("‹set›", &blanked, Origin::User);
        let program = reader::read_all(&mut self.heap, self.source).map_err(|errors| {
            let bad = |mut e: Diagnostic| {
                let message = format!("the value for {name} cannot be read: {}", e.message);
                let mut bad = Diagnostic::error(ErrorCode::E0701, message);
                bad.labels = std::mem::take(&mut e.labels);
                bad.help = e.help.take();
                *bad
            };
            errors.into_iter().map(bad).collect::<Vec<_>>()
        })?;
        let items = self.heap.list_items(program.forms).unwrap_or_default();
        match items[..] {
            [value] => Ok((name, self.datum(value))),
            [] => {
                let error =
                    Diagnostic::error(ErrorCode::E0701, format!("{name} is given no value")).at(self.span(equals, 1));
                Err(vec![*error.help(format!("write the value behind the equals sign, as in ‹set {name}=1.5›"))])
            }
            [_, ..] => {
                let message = format!("{name} is given {} values, expected one", items.len());
                let rest = self.text[equals + 1..].trim_start();
                let error = Diagnostic::error(ErrorCode::E0701, message)
                    .at(self.span(self.text.len() - rest.len(), rest.len()));
                Err(vec![*error.help(format!("for a list, write ‹set '{name}=({})'›", rest.trim_end()))])
            }
        }
    }

    /// The datum; `'x` is `x`, because `--set` already quotes.
    fn datum(&mut self, value: Value) -> Datum {
        let quote = Value::symbol(self.heap.symbols.intern("quote"));
        let mut value = value;
        if let Some([head, quoted]) = self.heap.list_items(value).as_deref()
            && *head == quote
        {
            value = *quoted;
        }
        let heap = &self.heap;
        Datum::from_value(heap, value, &|v| printer::write(heap, v))
    }

    fn name(&mut self, name: &str) -> Result<String, Error> {
        let symbol = match reader::read_one(&mut self.heap, name, 0) {
            Ok(Some((value, end))) if end == name.len() => value.as_symbol(),
            _ => None,
        };
        let Some(symbol) = symbol else {
            return Err(self.usage(&format!("{name:?} is not a name that can be given a value")));
        };
        // A keyword may be bound like any other name, as `define`, `params` and columns do.
        let text = self.heap.symbols.name(symbol).to_string();
        if text.starts_with('%') {
            let message = format!("{text} cannot be given a value: it is a name of the system");
            return Err(Diagnostic::error(ErrorCode::E0701, message)
                .at(self.span(0, name.len()))
                .help("use another name in the program"));
        }
        Ok(text)
    }

    fn usage(&self, message: &str) -> Error {
        Diagnostic::error(ErrorCode::E0910, format!("{message}, got ‹set {:?}›", self.text))
            .help("write ‹set name=value›, for example ‹set x=1.5› or ‹set 'xs=(1 2 3)'›")
    }

    fn span(&self, start: usize, len: usize) -> Span {
        Span::new(self.source, start, start + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_a_name_and_one_datum() {
        let parse = |text| Datum::parse_setting(text).map_err(|r| r.diagnostics[0].code.as_str());
        assert_eq!(parse("x=1.5"), Ok(("x".into(), Datum::Real(1.5))));
        assert_eq!(parse("x='a"), Ok(("x".into(), Datum::Symbol("a".into()))));
        assert_eq!(parse("s=\"a=b\""), Ok(("s".into(), Datum::String("a=b".into()))));
        assert_eq!(parse("n= -3 ; three"), Ok(("n".into(), Datum::Integer(-3))));
        for (text, code) in
            [("x", "E0910"), ("1=2", "E0910"), ("=2", "E0910"), ("x=", "E0701"), ("x=1 2", "E0701"), ("x=(1", "E0701")]
        {
            assert_eq!(parse(text), Err(code), "{text}");
        }
        assert_eq!(parse("%if=1"), Err("E0701"));
        assert_eq!(parse("delay=1.0"), Ok(("delay".into(), Datum::Real(1.0))));
    }

    #[test]
    fn places_count_from_the_start_of_the_setting() {
        let report = Datum::parse_setting("xs=(1 . )").unwrap_err();
        let (text, span) = report.source_text().unwrap();
        assert_eq!((text, span.start), (".", 6));
    }
}

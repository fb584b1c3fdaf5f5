//! What a program and a table have to do with each other, without running anything: which columns it reads, and what is
//! odd about them.

use dmci::{Column, Datum, Diagnostic, ErrorCode, Interpreter, Program, Report};
use dmci_table::{Table, TableColumn};

/// What a program has to do with a table.
#[derive(Clone, Debug, Default)]
pub struct TableCheck {
    /// The columns that it reads.
    pub reads: Vec<String>,
    /// The others.
    pub unused: Vec<String>,
    /// What is odd.
    pub warnings: Report,
}

/// Looks at the columns that a program reads.
pub fn check_table(program: &Program, table: &Table) -> Result<TableCheck, Report> {
    let names = Interpreter::shared().names(program)?;
    let per: Vec<&String> = names.schema.parameters.iter().filter_map(|p| p.per.as_ref()).collect();
    let is_read = |c: &&TableColumn| names.mentioned.contains(&c.name) || per.contains(&&c.name);
    let (reads, unused): (Vec<&TableColumn>, Vec<&TableColumn>) = table.columns.iter().partition(|c| is_read(c));
    let mut check = TableCheck {
        reads: reads.iter().map(|c| c.name.clone()).collect(),
        unused: unused.iter().map(|c| c.name.clone()).filter(|name| !name.is_empty()).collect(),
        warnings: Report::default(),
    };
    let mut warn = |message: String, help: String| {
        check.warnings.append(Report::from(Diagnostic::warning(ErrorCode::W0705, message).help(help)));
    };
    let file = &table.name;
    for (i, column) in reads.iter().enumerate() {
        let name = &column.name;
        if let Some(row) = column.stray {
            let message =
                format!("{file}: row {} of column {name} must be a number, got {}", row + 1, column.shown(row));
            warn(message, "correct the field, or declare with ‹missing› what stands for no value".into());
        } else if table.rows > 1 && (1..table.rows).all(|row| column.values.row(row) == column.values.row(0)) {
            let message = format!("{file}: {name} is {} in every row", column.shown(0));
            warn(message, format!("the data cannot tell what {name} does; a parameter beside it may be undetermined"));
        }
        if !column.missing.is_empty() && column.missing.len() == table.rows {
            warn(format!("{file}: {name} has nothing in any row"), "check the file".into());
        }
        if let Some(same) = reads[..i].iter().find(|other| other.values == column.values) {
            let message = format!("{file}: {name} is the same as {} in every row", same.name);
            warn(message, format!("the data cannot tell the two apart: use {} alone", same.name));
        }
    }
    check.warnings.append(never_true(program, &reads));
    Ok(check)
}

/// Warns of comparisons of a column of texts that no row can make true: with a symbol, or with a text that no row has.
pub(crate) fn never_true(program: &Program, reads: &[&TableColumn]) -> Report {
    let mut report = Report::default();
    for Comparison { form, column, other } in comparisons(program, reads) {
        let words = texts_of(column);
        let (why, help) = match other {
            Other::Symbol(symbol) => {
                (format!("{} holds texts, and '{symbol} is a symbol", column.name), with_text(&form, &symbol))
            }
            Other::Text(text) if words.contains(&text.as_str()) => continue,
            Other::Text(text) => {
                let mut known = words.clone();
                known.dedup();
                let help = match dmci::nearest(&text, known.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None if known.len() <= MOST_TEXTS => format!("its texts are {}", known.join(", ")),
                    None => "look at the column again".into(),
                };
                (format!("no row of {} is \"{text}\"", column.name), help)
            }
        };
        let message = format!("{form} is never true: {why}");
        report.append(Report::from(Diagnostic::warning(ErrorCode::W0705, message).help(help)));
    }
    report
}

/// The columns of these names.
pub(crate) fn read_columns<'a, 'b>(table: &'a Table, names: impl Iterator<Item = &'b String>) -> Vec<&'a TableColumn> {
    names.filter_map(|name| table.column(name)).collect()
}

/// Texts of a column that a message lists.
const MOST_TEXTS: usize = 8;

/// The texts of a column, in order; equal ones stand together.
fn texts_of(column: &TableColumn) -> Vec<&str> {
    let Column::Data(data) = &column.values else { return Vec::new() };
    let mut texts: Vec<&str> =
        data.iter().filter_map(|x| if let Datum::String(text) = x { Some(text.as_str()) } else { None }).collect();
    texts.sort_unstable();
    texts
}

/// How a comparison with a symbol is written with a text.
fn with_text(form: &str, symbol: &str) -> String {
    match form.starts_with("(case ") {
        true => format!("compare texts: (cond ((string=? ... \"{symbol}\") ...) (else ...))"),
        false => {
            let head = form.split_whitespace().next().unwrap_or("(");
            format!(
                "write {}",
                form.replacen(head, "(string=?", 1).replace(&format!("'{symbol}"), &format!("\"{symbol}\""))
            )
        }
    }
}

/// A comparison of a column of texts.
struct Comparison<'a> {
    /// As it is written.
    form: String,
    column: &'a TableColumn,
    other: Other,
}

/// What a column is compared with.
enum Other {
    Symbol(String),
    Text(String),
}

/// Comparisons of columns of texts with symbols and texts.
fn comparisons<'a>(program: &Program, reads: &[&'a TableColumn]) -> Vec<Comparison<'a>> {
    let is_text =
        |c: &TableColumn| matches!(&c.values, Column::Data(d) if d.iter().any(|x| matches!(x, Datum::String(_))));
    let texts: Vec<&TableColumn> = reads.iter().copied().filter(|c| c.stray.is_none() && is_text(c)).collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let Ok((_, forms)) = Datum::parse_setting(&format!("program=({}\n)", program.text)) else { return Vec::new() };
    let mut found = Vec::new();
    let mut rest = vec![&forms];
    while let Some(form) = rest.pop() {
        let Datum::List(items, None) = form else { continue };
        rest.extend(items.iter().rev());
        match &items[..] {
            [Datum::Symbol(head), a, b]
                if ["eq?", "eqv?", "equal?", "symbol=?", "string=?"].contains(&head.as_str()) =>
            {
                for (column, other) in [(a, b), (b, a)] {
                    let Some(column) = texts.iter().find(|c| matches!(column, Datum::Symbol(name) if *name == c.name))
                    else {
                        continue;
                    };
                    let other = match (quoted(other), other) {
                        (Some(symbol), _) => Other::Symbol(symbol.to_string()),
                        (None, Datum::String(text)) => Other::Text(text.clone()),
                        _ => continue,
                    };
                    let form = format!("({head} {} {})", written(a), written(b));
                    found.push(Comparison { form, column, other });
                }
            }
            [Datum::Symbol(head), Datum::Symbol(name), clauses @ ..] if head == "case" => {
                let Some(column) = texts.iter().find(|c| c.name == *name) else { continue };
                let symbol = clauses.iter().find_map(|clause| match clause {
                    Datum::List(parts, None) => match parts.first() {
                        Some(Datum::List(keys, None)) => keys.iter().find_map(|key| match key {
                            Datum::Symbol(symbol) => Some(symbol),
                            _ => None,
                        }),
                        _ => None,
                    },
                    _ => None,
                });
                found.extend(symbol.map(|symbol| Comparison {
                    form: format!("(case {name} (({symbol}) ...))"),
                    column,
                    other: Other::Symbol(symbol.clone()),
                }));
            }
            _ => {}
        }
    }
    found
}

/// The symbol of a form `'name`.
fn quoted(form: &Datum) -> Option<&str> {
    match form {
        Datum::List(items, None) => match &items[..] {
            [Datum::Symbol(quote), Datum::Symbol(name)] if quote == "quote" => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// A name, a text or a quoted symbol as it is written.
fn written(form: &Datum) -> String {
    match (quoted(form), form) {
        (Some(symbol), _) => format!("'{symbol}"),
        (None, Datum::Symbol(name)) => name.clone(),
        (None, Datum::String(text)) => format!("\"{text}\""),
        _ => "...".into(),
    }
}

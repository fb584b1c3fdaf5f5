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
    for (form, column, text) in comparisons(program, &reads) {
        let message = format!("{form} is never true: {column} holds texts, and '{text} is a symbol");
        warn(message, format!("write (string=? {column} \"{text}\")"));
    }
    Ok(check)
}

/// Comparisons of a column of texts with a symbol: as they are written, the column, and the symbol.
fn comparisons(program: &Program, reads: &[&TableColumn]) -> Vec<(String, String, String)> {
    let is_text =
        |c: &TableColumn| matches!(&c.values, Column::Data(d) if d.iter().any(|x| matches!(x, Datum::String(_))));
    let texts: Vec<&str> = reads.iter().filter(|c| c.stray.is_none() && is_text(c)).map(|c| c.name.as_str()).collect();
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
                    let (Datum::Symbol(column), Some(symbol)) = (column, quoted(other)) else { continue };
                    if texts.contains(&column.as_str()) {
                        let written = [a, b].map(|x| quoted(x).map_or_else(|| plain(x), |s| format!("'{s}")));
                        found.push((format!("({head} {})", written.join(" ")), column.clone(), symbol.to_string()));
                    }
                }
            }
            [Datum::Symbol(head), Datum::Symbol(column), clauses @ ..]
                if head == "case" && texts.contains(&column.as_str()) =>
            {
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
                let written =
                    |symbol: &String| (format!("(case {column} (({symbol}) ...))"), column.clone(), symbol.clone());
                found.extend(symbol.map(written));
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

/// A name as it is written.
fn plain(form: &Datum) -> String {
    match form {
        Datum::Symbol(name) => name.clone(),
        _ => "...".into(),
    }
}

//! Tables from CSV files.

use dmci::{Column, Datum, Diagnostic, Report};
use std::path::Path;

/// Named columns of equal length.
pub type Table = Vec<(String, Column)>;

/// Reads a CSV file with a header line.
pub fn read_csv(path: &Path) -> Result<Table, Report> {
    let name = path.display();
    let wrong = |message: String, help: &str| Report::of(*Diagnostic::error("E0702", message).help(help));
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|e| Report::of(*Diagnostic::error("E0901", format!("{name}: {e}")).help("check the file's name")))?;
    let headers = reader.headers().map_err(|e| wrong(format!("{name}: {e}"), "write names in the first line"))?.clone();
    let mut fields: Vec<Vec<String>> = vec![Vec::new(); headers.len()];
    for record in reader.records() {
        let record = record.map_err(|e| wrong(format!("{name}: {e}"), "give every row one field for each column"))?;
        for (column, field) in fields.iter_mut().zip(&record) {
            column.push(field.to_string());
        }
    }
    let rows = fields.first().map_or(0, Vec::len);
    if rows == 0 {
        return Err(wrong(format!("{name} has no rows"), "add rows below the header line"));
    }
    let mut columns = Vec::new();
    for (header, fields) in headers.iter().zip(fields) {
        if let Some(row) = fields.iter().position(String::is_empty) {
            let message = format!("{name}: row {} has nothing in column {header}", row + 1);
            return Err(wrong(message, "fill it in, or remove the row"));
        }
        columns.push((header.to_string(), column(fields)));
    }
    Ok(columns)
}

fn column(fields: Vec<String>) -> Column {
    if let Ok(integers) = fields.iter().map(|f| f.parse::<i64>()).collect::<Result<Vec<_>, _>>() {
        return Column::Data(integers.into_iter().map(Datum::Integer).collect());
    }
    match fields.iter().map(|f| f.parse::<f64>()).collect::<Result<Vec<_>, _>>() {
        Ok(reals) => Column::Reals(reals),
        Err(_) => Column::Data(fields.into_iter().map(Datum::String).collect()),
    }
}

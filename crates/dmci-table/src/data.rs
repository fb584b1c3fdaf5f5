//! Tables: named columns of equal length, read from CSV.

use crate::hash::Hash;
use crate::{dialect, netcdf, npy};
use dmci::ErrorCode;
use dmci::{Column, Datum, Diagnostic, Report};
use std::collections::{BTreeMap, HashSet};
use std::io::Read;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Where it comes from, for messages.
    pub name: String,
    /// In the order of the header line.
    pub columns: Vec<TableColumn>,
    /// Rows below the header line.
    pub rows: usize,
    /// The units of columns by name, of a line `#units: m, s, kg/m^3`.
    pub units: BTreeMap<String, String>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// Its name in the header line.
    pub name: String,
    /// Exact integers if every field is an integer literal, reals if every field is a number, and
    /// strings otherwise.
    pub values: Column,
    /// The first row whose field is no number although most fields are: the table is likely wrong.
    pub stray: Option<usize>,
    /// Rows that have nothing in this column, where that is allowed; their values are NaN.
    pub missing: Vec<usize>,
}

/// How a text becomes a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Format {
    /// What stands between fields; without, it is found.
    pub delimiter: Option<u8>,
    /// Fields that mean that there is no value; none are missing unless they are declared.
    pub missing: Vec<String>,
    /// The columns that matter: what others do not have is missing, undeclared. Without, all of them.
    pub columns: Option<Vec<String>>,
}

impl Table {
    /// Reads a table with a header line; `name` says in messages which one it is.
    pub fn from_csv(name: &str, input: impl Read) -> Result<Table, Report> {
        Table::from_text(name, input, &Format::default())
    }

    /// Reads a table by the end of its file's name: `.npy` and `.npz` of NumPy, `.nc` and `.cdf` of NetCDF, `.tsv` and
    /// `.tab` with tabs between fields, everything else with what is found between them: commas, semicolons, tabs or
    /// blanks. `.gz` behind that means that it is packed. What a NetCDF file says is missing is missing.
    pub fn from_bytes(name: &str, bytes: &[u8], missing: &[String]) -> Result<Table, Report> {
        Table::from_bytes_of(name, bytes, missing, None)
    }

    /// The same, where only some columns matter: others may have nothing in a row.
    pub fn from_bytes_of(
        name: &str,
        bytes: &[u8],
        missing: &[String],
        columns: Option<&[String]>,
    ) -> Result<Table, Report> {
        let ending = |name: &str| name.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_ascii_lowercase());
        let mut end = ending(name);
        let unpacked;
        let mut bytes = bytes;
        if end == "gz" {
            unpacked = dialect::gunzip(name, bytes)?;
            bytes = &unpacked;
            end = ending(&name[..name.len() - ".gz".len()]);
        }
        dialect::refuse(name, &end)?;
        let delimiter = matches!(end.as_str(), "tsv" | "tab").then_some(b'\t');
        let mut table = match end.as_str() {
            "npy" => npy::from_npy(name, bytes)?,
            "npz" => npy::from_npz(name, bytes)?,
            "nc" | "cdf" => return netcdf::from_netcdf(name, bytes),
            _ => {
                let format = Format { delimiter, missing: missing.to_vec(), columns: columns.map(<[String]>::to_vec) };
                return Table::from_text(name, bytes, &format);
            }
        };
        if missing.iter().any(|m| m.eq_ignore_ascii_case("nan")) {
            table.columns.iter_mut().for_each(TableColumn::note_missing);
        }
        Ok(table)
    }

    /// Reads a text as a format says.
    pub fn from_text(name: &str, mut input: impl Read, format: &Format) -> Result<Table, Report> {
        let wrong = |message: String, help: &str| {
            Report::from(Diagnostic::error(ErrorCode::E0702, format!("{name}: {message}")).help(help))
        };
        let mut bytes = Vec::new();
        loop {
            // A part at a time, as long as there is room for twice as much: vectors grow by doubling.
            dialect::ensure(name, 2 * bytes.len())?;
            let part = input.by_ref().take((bytes.len() as u64).max(1 << 20)).read_to_end(&mut bytes);
            if part.map_err(|e| wrong(format!("it cannot be read: {e}"), "check the file"))? == 0 {
                break;
            }
        }
        dialect::ensure(name, bytes.len())?;
        let dialect::Plain { text: bytes, delimiter, units } = dialect::plain(&bytes, format.delimiter);
        match misquoted(&bytes, delimiter) {
            Some((row, Quoting::Unclosed)) => {
                let message = format!("a quoted field is never closed, in {}", place(row));
                return Err(wrong(message, "close it with a \", or remove the \" that opens it"));
            }
            Some((row, Quoting::Continued)) => {
                let message = format!("a quoted field goes on behind its closing \", in {}", place(row));
                return Err(wrong(message, "put all of the field between the quotes; a quote inside is written \"\""));
            }
            None => {}
        }
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).delimiter(delimiter).from_reader(&bytes[..]);
        let headers = reader.headers().map_err(|e| wrong(explain(&e, 0), UTF8_HELP))?.clone();
        let mut seen = HashSet::new();
        for header in &headers {
            if !header.is_empty() && !seen.insert(header) {
                return Err(wrong(format!("two columns are called {header}"), "give each column a name of its own"));
            }
        }
        let mut fields: Vec<Vec<String>> = vec![Vec::new(); headers.len()];
        let mut rows = 0;
        for record in reader.records() {
            rows += 1;
            if rows % LOOK == 0 {
                dialect::ensure(name, 0)?;
            }
            let record = record.map_err(|e| {
                let twice = |len: u64, expected: u64| delimiter == b',' && len == 2 * expected;
                let help = match e.kind() {
                    csv::ErrorKind::Io(_) => "check the file",
                    csv::ErrorKind::UnequalLengths { expected_len, len, .. } if twice(*len, *expected_len) => {
                        "if its numbers have decimal commas, put semicolons or tabs between the fields"
                    }
                    _ => "give every row one field for each column",
                };
                wrong(explain(&e, rows), if e.utf8() { UTF8_HELP } else { help })
            })?;
            for (column, field) in fields.iter_mut().zip(&record) {
                column.push(field.to_string());
            }
        }
        if rows == 0 {
            return Err(wrong("it has no rows".into(), "add rows below the header line"));
        }
        let units = units.unwrap_or_default();
        if !units.is_empty() && units.len() != headers.len() {
            let message = format!("the line #units: has {} units for {} columns", units.len(), headers.len());
            return Err(wrong(message, "give every column one, with commas between them; 1 is that of a number"));
        }
        let named = headers.iter().zip(&units).filter(|(_, unit)| !unit.is_empty());
        let units = named.map(|(name, unit)| (name.to_string(), unit.clone())).collect();
        if delimiter != b',' {
            dialect::decimal_points(&mut fields);
        }
        let mut columns = Vec::new();
        for (header, fields) in headers.iter().zip(fields) {
            let matters = format.columns.as_ref().is_none_or(|list| list.iter().any(|name| name == header));
            let is_missing = |field: &String| format.missing.contains(field) || field.is_empty() && !matters;
            if let Some(row) = fields.iter().position(|f| f.is_empty() && !is_missing(f)) {
                let message = format!("row {} has nothing in column {header}", row + 1);
                return Err(wrong(message, "fill it in, or leave out rows with empty fields by ‹missing ''›"));
            }
            let missing: Vec<usize> = (0..rows).filter(|&row| is_missing(&fields[row])).collect();
            columns.push(TableColumn::parse(header, fields, missing));
        }
        Ok(Table { name: name.to_string(), columns, rows, units })
    }

    /// A hash of names and values: the same table gives the same hash, wherever it is stored.
    pub fn hash(&self) -> String {
        let mut hash = Hash::default();
        for column in &self.columns {
            hash.add(column.name.as_bytes());
            hash.add(&[0]);
            match &column.values {
                Column::Reals(list) => list.iter().for_each(|x| hash.add_number(*x)),
                Column::Data(list) => list.iter().for_each(|d| hash.add(format!("{d:?};").as_bytes())),
                Column::Shaped(sample, numbers) => {
                    hash.add(format!("{sample:?};").as_bytes());
                    numbers.iter().for_each(|x| hash.add_number(*x));
                }
            }
        }
        for (name, unit) in &self.units {
            hash.add(format!("#units {name} {unit};").as_bytes());
        }
        hash.digits()
    }

    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// The names of all columns, for messages.
    pub fn column_names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).filter(|n| !n.is_empty()).collect();
        names.join(", ")
    }
}

impl TableColumn {
    /// Notes where the numbers are NaN.
    fn note_missing(&mut self) {
        if let Column::Reals(list) = &self.values {
            self.missing = (0..list.len()).filter(|&row| list[row].is_nan()).collect();
        }
    }

    fn parse(name: &str, mut fields: Vec<String>, missing: Vec<usize>) -> TableColumn {
        missing.iter().for_each(|&row| fields[row] = "nan".into());
        let column = |values, stray| TableColumn { name: name.to_string(), values, stray, missing: missing.clone() };
        if let Some(integers) = fields.iter().map(|f| integer(f)).collect::<Option<Vec<_>>>() {
            return column(Column::Data(integers), None);
        }
        let numbers: Vec<Option<f64>> = fields.iter().map(|f| f.parse().ok()).collect();
        if let Some(reals) = numbers.iter().copied().collect::<Option<Vec<f64>>>() {
            return column(Column::Reals(reals), None);
        }
        let texts = numbers.iter().filter(|n| n.is_none()).count();
        let stray = numbers.iter().position(Option::is_none).filter(|_| 2 * texts < fields.len());
        column(Column::Data(fields.into_iter().map(Datum::String).collect()), stray)
    }

    /// The column as reals; the first row that holds no number otherwise.
    pub fn reals(&self) -> Result<Vec<f64>, usize> {
        reals(&self.values).map_err(|row| self.stray.unwrap_or(row))
    }

    /// The field of a row, as it is shown in messages.
    pub fn shown(&self, row: usize) -> String {
        match &self.values {
            Column::Reals(list) => list.get(row).map_or(String::new(), |x| x.to_string()),
            Column::Data(list) => match list.get(row) {
                Some(Datum::String(text)) => format!("{text:?}"),
                Some(Datum::Integer(i)) => i.to_string(),
                Some(Datum::BigInteger(digits)) => digits.clone(),
                _ => String::new(),
            },
            Column::Shaped(..) => String::new(),
        }
    }
}

/// The numbers of a column; the first row that holds none otherwise.
pub fn reals(column: &Column) -> Result<Vec<f64>, usize> {
    match column {
        Column::Reals(list) => Ok(list.clone()),
        Column::Data(list) => list.iter().enumerate().map(|(row, datum)| datum.as_f64().ok_or(row)).collect(),
        Column::Shaped(..) => Err(0),
    }
}

/// The rows of a column with these indices.
pub fn select(column: &Column, rows: &[usize]) -> Column {
    column.select(rows)
}

/// An exact integer, of any size.
fn integer(field: &str) -> Option<Datum> {
    if let Ok(i) = field.parse() {
        return Some(Datum::Integer(i));
    }
    let digits = field.strip_prefix(['-', '+']).unwrap_or(field);
    let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_integer.then(|| Datum::BigInteger(field.strip_prefix('+').unwrap_or(field).to_string()))
}

/// Rows between two looks at the memory.
const LOOK: usize = 1024;

const UTF8_HELP: &str = "save it as UTF-8";

/// A row in messages; rows are counted from 1 below the header line.
fn place(row: usize) -> String {
    if row == 0 { "the header line".into() } else { format!("row {row}") }
}

/// What is wrong with the quotes of a field.
enum Quoting {
    /// The end of the text does not close it: the reader would take all that follows for a part of the field.
    Unclosed,
    /// Something stands between its closing quote and the end of the field: the reader would take `"1"2` for 12.
    Continued,
}

/// The first row with a field whose quotes are wrong.
fn misquoted(text: &[u8], delimiter: u8) -> Option<(usize, Quoting)> {
    #[derive(PartialEq)]
    enum At {
        Record,
        Field,
        Plain,
        Quoted,
        Quote,
        Behind,
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let (mut at, mut row) = (At::Record, 0);
    for &byte in text {
        at = match (at, byte) {
            (At::Quoted, b'"') => At::Quote,
            (At::Quoted, _) | (At::Record | At::Field | At::Quote, b'"') => At::Quoted,
            // Lines without anything are no rows.
            (At::Record, b'\n' | b'\r') => At::Record,
            (_, b'\n' | b'\r') => {
                row += 1;
                At::Record
            }
            (_, byte) if byte == delimiter => At::Field,
            (At::Quote | At::Behind, b' ' | b'\t') => At::Behind,
            (At::Quote | At::Behind, _) => return Some((row, Quoting::Continued)),
            _ => At::Plain,
        };
    }
    (at == At::Quoted).then_some((row, Quoting::Unclosed))
}

/// What the reader has to say, in our words.
fn explain(error: &csv::Error, row: usize) -> String {
    let place = place(row);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let fields = if *len == 1 { "field" } else { "fields" };
            format!("{place} has {len} {fields}, expected {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => format!("{place} is not text in UTF-8"),
        csv::ErrorKind::Io(error) => format!("{place} cannot be read: {error}"),
        _ => format!("{place}: {error}"),
    }
}

/// Whether an error is about the encoding.
trait Encoding {
    fn utf8(&self) -> bool;
}

impl Encoding for csv::Error {
    fn utf8(&self) -> bool {
        matches!(self.kind(), csv::ErrorKind::Utf8 { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::from_csv("t.csv", text.as_bytes()).expect("a table")
    }

    fn message(text: &[u8]) -> String {
        let report = Table::from_csv("t.csv", text).expect_err("not a table");
        assert_eq!(report.diagnostics[0].code, "E0702");
        report.diagnostics[0].message.clone()
    }

    #[test]
    fn columns_are_exact_real_or_text() {
        let t = table("a, b,c,d,e\n1,1,x,1,+12345678901234567890\n-2,2.5,y,1e3,2\n");
        let kind = |name: &str| match &t.column(name).unwrap().values {
            Column::Reals(list) => format!("{list:?}"),
            other => format!("{:?}", (0..other.len()).map(|r| other.row(r)).collect::<Vec<_>>()),
        };
        assert_eq!(kind("a"), "[Integer(1), Integer(-2)]");
        assert_eq!(kind("b"), "[1.0, 2.5]");
        assert_eq!(kind("c"), "[String(\"x\"), String(\"y\")]");
        assert_eq!(kind("d"), "[1.0, 1000.0]", "an exponent is no integer literal");
        assert_eq!(kind("e"), "[BigInteger(\"12345678901234567890\"), Integer(2)]");
        assert_eq!(t.column("e").unwrap().reals(), Ok(vec![12345678901234567890.0, 2.0]));
        assert_eq!((t.rows, t.column("z")), (2, None));
    }

    #[test]
    fn a_text_among_numbers_is_noticed() {
        let t = table("a,b\n1,x\n2,2\noops,y\n4,z\n");
        assert_eq!(t.column("a").unwrap().stray, Some(2));
        assert_eq!(t.column("a").unwrap().reals(), Err(2));
        assert_eq!(t.column("a").unwrap().shown(2), "\"oops\"");
        assert_eq!(t.column("b").unwrap().stray, None, "most of it is text");
    }

    #[test]
    fn byte_order_marks_quotes_and_blank_lines_are_fine() {
        let t = table("\u{feff}t,\"y, cm\"\r\n\r\n 1 ,\"2.5\"\r\n");
        assert_eq!(t.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["t", "y, cm"]);
        assert_eq!(t.columns[1].values, Column::Reals(vec![2.5]));
    }

    #[test]
    fn tabs_and_declared_gaps_are_read() {
        let t = Table::from_bytes("t.tsv", b"a\tb\n1\tNA\n2\t3.5\n", &["NA".into()]).unwrap();
        assert_eq!(t.column("b").unwrap().missing, [0]);
        assert!(matches!(&t.column("b").unwrap().values, Column::Reals(list) if list[0].is_nan() && list[1] == 3.5));
        let t = Table::from_bytes("t.csv", b"a,b\n1,\n2,x\n", &[String::new()]).unwrap();
        assert_eq!(t.column("b").unwrap().missing, [0]);
        let t = Table::from_bytes_of("t.csv", b"a,b\n1,\n2,x\n", &[], Some(&["a".into()])).unwrap();
        assert_eq!((t.rows, t.column("b").unwrap().missing.as_slice()), (2, &[0][..]), "nobody reads b");
        assert_eq!(Table::from_bytes("t.csv", b"a,b\n1,\n", &["NA".into()]).unwrap_err().diagnostics.len(), 1);
    }

    #[test]
    fn a_quoted_field_must_be_closed() {
        let unclosed = |place: &str| format!("t.csv: a quoted field is never closed, in {place}");
        assert_eq!(message(b"x,y\n1.0,2\n\n2.0,4\r\n3.0,\"6\n4.0,8\n5.0,10\n"), unclosed("row 3"));
        assert_eq!(message(b"x,\"y\n1,2\n"), unclosed("the header line"));
        assert_eq!(message(b"\xef\xbb\xbf\"x,y\n1,2\n"), unclosed("the header line"));
        assert_eq!(message(b"x,y,z\n1,\"2\"\",3\n4,5,6\n"), unclosed("row 1"), "not: too few fields");
        let continued = |place: &str| format!("t.csv: a quoted field goes on behind its closing \", in {place}");
        assert_eq!(message(b"x\n\"1\"2\n3\n"), continued("row 1"), "not 12");
        assert_eq!(message(b"x,\"y\" z\n1,2\n"), continued("the header line"));
        let t = table("x,y\n\"1\" ,2\n");
        assert_eq!(t.column("x").unwrap().values.row(0), Datum::Integer(1), "blanks behind a quote are no content");
        let t = table("x,y\n1,\"a\nb \"\"c\"\"\"\n2,5\" pipe\n");
        let texts = ["a\nb \"c\"", "5\" pipe"].map(|t| Datum::String(t.into()));
        assert_eq!(t.column("y").unwrap().values, Column::Data(texts.to_vec()));
    }

    #[test]
    fn wrong_tables_name_the_place() {
        assert_eq!(message(b"a,b\n"), "t.csv: it has no rows");
        assert_eq!(message(b""), "t.csv: it has no rows");
        assert_eq!(message(b"a,b\n1,2\n3\n"), "t.csv: row 2 has 1 field, expected 2");
        assert_eq!(message(b"a,b\n1,2\n3,\n"), "t.csv: row 2 has nothing in column b");
        assert_eq!(message(b"a,a\n1,2\n"), "t.csv: two columns are called a");
        assert_eq!(message(b"a,b\n1,\xff\n"), "t.csv: row 1 is not text in UTF-8");
    }
}

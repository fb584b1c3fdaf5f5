//! Tables from NetCDF files of the classic formats (CDF-1, CDF-2, CDF-5). Every variable over some of the
//! dimensions of the one that has most becomes a column, repeated along the dimensions that it lacks: the
//! coordinates of a grid stand beside its numbers.

use crate::data::{Table, TableColumn};
use dmci::ErrorCode;
use dmci::{Column, Datum, Diagnostic, Report};

/// What is wrong with a file.
fn wrong(name: &str, message: impl std::fmt::Display, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0702, format!("{name}: {message}")).help(help))
}

/// Most rows that a table may have.
const MOST_ROWS: usize = 1 << 28;

/// The table of a file.
pub fn from_netcdf(name: &str, bytes: &[u8]) -> Result<Table, Report> {
    if bytes.starts_with(b"\x89HDF\r\n\x1a\n") {
        let message = "expected a NetCDF file of the classic format, got NetCDF-4, which is HDF5";
        return Err(wrong(name, message, "convert it with nccopy -k classic IN.nc OUT.nc"));
    }
    let help = "give a file that a NetCDF library has written";
    let file = File::read(bytes).ok_or_else(|| wrong(name, "it is no NetCDF file, or it ends too early", help))?;
    let Some(widest) = file.variables.iter().filter(|v| v.is_numeric()).max_by_key(|v| v.dimensions.len()) else {
        return Err(wrong(name, "it has no variables of numbers", help));
    };
    let axes = widest.dimensions.clone();
    let sizes: Vec<usize> = axes.iter().map(|&d| file.dimensions[d]).collect();
    let rows = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).filter(|n| *n <= MOST_ROWS);
    let rows = rows.ok_or_else(|| wrong(name, "it has too many rows", "cut out a part of it"))?;
    if rows == 0 {
        return Err(wrong(name, "it has no rows", "check its dimensions"));
    }
    // There are as many numbers as rows: what a damaged header says is not believed.
    let short = || wrong(name, "it ends too early", help);
    file.numbers(bytes, widest).ok_or_else(short)?;
    let mut columns = Vec::new();
    for variable in file.variables.iter().filter(|v| v.is_numeric()) {
        let places: Option<Vec<usize>> =
            variable.dimensions.iter().map(|d| axes.iter().position(|axis| axis == d)).collect();
        let Some(places) = places else { continue };
        let numbers = file.numbers(bytes, variable).ok_or_else(short)?;
        let own: Vec<usize> = variable.dimensions.iter().map(|&d| file.dimensions[d]).collect();
        let values: Vec<f64> = (0..rows).map(|row| numbers[source(row, &sizes, &places, &own)]).collect();
        columns.push(column(variable, values));
    }
    Ok(Table { name: name.to_string(), columns, rows, ..Table::default() })
}

/// Where the number of a row is in a variable with fewer dimensions.
fn source(row: usize, sizes: &[usize], places: &[usize], own: &[usize]) -> usize {
    let index = |axis: usize| row / sizes[axis + 1..].iter().product::<usize>() % sizes[axis];
    places.iter().zip(own).fold(0, |at, (&axis, size)| at * size + index(axis))
}

/// Numbers as the variable's attributes say: filled gaps are missing, packed numbers are unpacked.
fn column(variable: &Variable, values: Vec<f64>) -> TableColumn {
    let attribute = |name: &str| variable.attributes.iter().find(|a| a.0 == name).and_then(|a| a.1);
    let gaps = [attribute("_FillValue"), attribute("missing_value")];
    let missing: Vec<usize> = (0..values.len()).filter(|&r| gaps.contains(&Some(values[r]))).collect();
    let (scale, offset) = (attribute("scale_factor"), attribute("add_offset"));
    let is_plain = scale.is_none() && offset.is_none();
    let exact = missing.is_empty() && is_plain && !matches!(variable.kind, 5 | 6);
    let values = if exact {
        Column::Data(values.into_iter().map(|x| Datum::Integer(x as i64)).collect())
    } else {
        let mut list: Vec<f64> = match is_plain {
            true => values,
            false => values.into_iter().map(|x| x * scale.unwrap_or(1.0) + offset.unwrap_or(0.0)).collect(),
        };
        missing.iter().for_each(|&r| list[r] = f64::NAN);
        Column::Reals(list)
    };
    TableColumn { name: variable.name.clone(), values, stray: None, missing }
}

#[derive(Debug)]
struct Variable {
    name: String,
    dimensions: Vec<usize>,
    /// Attributes that are one number.
    attributes: Vec<(String, Option<f64>)>,
    kind: u64,
    begin: usize,
    /// Whether its first dimension is the one that records are added along.
    is_record: bool,
}

impl Variable {
    fn is_numeric(&self) -> bool {
        self.kind != CHARACTERS && size_of_kind(self.kind).is_some()
    }
}

const CHARACTERS: u64 = 2;

/// Bytes of a number of a kind.
fn size_of_kind(kind: u64) -> Option<usize> {
    Some(match kind {
        1 | CHARACTERS | 7 => 1,
        3 | 8 => 2,
        4 | 5 | 9 => 4,
        6 | 10 | 11 => 8,
        _ => return None,
    })
}

/// A number of a kind, with its first byte first.
fn number(kind: u64, bytes: &[u8]) -> Option<f64> {
    let size = size_of_kind(kind)?;
    let bits = bytes.get(..size)?.iter().fold(0u64, |n, &b| n << 8 | u64::from(b));
    let shift = 64 - 8 * size as u32;
    Some(match kind {
        5 => f64::from(f32::from_bits(bits as u32)),
        6 => f64::from_bits(bits),
        1 | 3 | 4 | 10 => ((bits << shift) as i64 >> shift) as f64,
        _ => bits as f64,
    })
}

/// What the header says.
#[derive(Debug)]
struct File {
    /// The lengths of the dimensions.
    dimensions: Vec<usize>,
    variables: Vec<Variable>,
    /// Bytes from one record to the next.
    record: usize,
}

impl File {
    fn read(bytes: &[u8]) -> Option<File> {
        let version = *bytes.strip_prefix(b"CDF")?.first()?;
        let mut header = Header { bytes, at: 4, wide: version == 5, far: version != 1 };
        if !matches!(version, 1 | 2 | 5) {
            return None;
        }
        let records = header.count()?;
        let lengths: Vec<usize> = header.list(10, |h| {
            h.name()?;
            h.count()
        })?;
        let unlimited = lengths.iter().position(|&n| n == 0);
        header.attributes()?;
        let mut variables = header.list(11, |h| {
            let name = h.name()?;
            let count = h.count()?;
            let dimensions: Vec<usize> = (0..count.min(1024)).map(|_| h.count()).collect::<Option<_>>()?;
            let attributes = h.attributes()?;
            let kind = h.word(4)?;
            h.count()?;
            let begin = usize::try_from(h.word(if h.far { 8 } else { 4 })?).ok()?;
            let known = dimensions.iter().all(|&d| d < lengths.len());
            let is_record = dimensions.first().is_some_and(|d| Some(*d) == unlimited);
            known.then_some(Variable { name, dimensions, attributes, kind, begin, is_record })
        })?;
        let bytes_of = |v: &Variable| -> Option<usize> {
            let mut inner = v.dimensions.iter().skip(v.is_record as usize);
            inner.try_fold(size_of_kind(v.kind)?, |n, &d| n.checked_mul(lengths[d]))
        };
        let records_of: Vec<&Variable> = variables.iter().filter(|v| v.is_record).collect();
        let record = match &records_of[..] {
            // A single variable has no gaps between its records.
            [one] => bytes_of(one)?,
            many => many.iter().try_fold(0usize, |n, v| n.checked_add(bytes_of(v)?.checked_next_multiple_of(4)?))?,
        };
        // A file that is still being written does not say how many records it has.
        let streaming = records >= u32::MAX as usize;
        let first = records_of.iter().map(|v| v.begin).min();
        let records = match (streaming, first) {
            (true, Some(first)) => bytes.len().saturating_sub(first).checked_div(record)?,
            _ => records,
        };
        let dimensions = lengths.iter().map(|&n| if n == 0 { records } else { n }).collect();
        variables.retain(|v| !v.name.is_empty());
        Some(File { dimensions, variables, record })
    }

    /// All numbers of a variable, in its order; none if the file is too short.
    fn numbers(&self, bytes: &[u8], variable: &Variable) -> Option<Vec<f64>> {
        let size = size_of_kind(variable.kind)?;
        let sizes: Vec<usize> = variable.dimensions.iter().map(|&d| self.dimensions[d]).collect();
        let (outer, inner) = if variable.is_record { (sizes[0], &sizes[1..]) } else { (1, &sizes[..]) };
        let inner = inner.iter().try_fold(1usize, |n, &size| n.checked_mul(size))?;
        let end = outer.checked_sub(1)?.checked_mul(self.record)?.checked_add(inner.checked_mul(size)?)?;
        let body = bytes.get(variable.begin..)?.get(..end)?;
        let mut numbers = Vec::with_capacity(outer * inner);
        for record in 0..outer {
            let part = &body[record * self.record..][..inner * size];
            numbers.extend(part.chunks(size).filter_map(|n| number(variable.kind, n)));
        }
        Some(numbers)
    }
}

struct Header<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Counts have eight bytes.
    wide: bool,
    /// Places have eight bytes.
    far: bool,
}

impl Header<'_> {
    fn word(&mut self, size: usize) -> Option<u64> {
        let part = self.bytes.get(self.at..self.at.checked_add(size)?)?;
        self.at += size;
        Some(part.iter().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.word(if self.wide { 8 } else { 4 })?).ok()
    }

    /// Bytes, and what fills them up to a multiple of four.
    fn padded(&mut self, length: usize) -> Option<&[u8]> {
        let start = self.at;
        let part = self.bytes.get(start..start.checked_add(length)?)?;
        self.at = start.checked_add(length.checked_next_multiple_of(4)?)?;
        Some(part)
    }

    fn name(&mut self) -> Option<String> {
        let length = self.count()?;
        Some(String::from_utf8_lossy(self.padded(length)?).into_owned())
    }

    /// A list of things with a tag, or nothing.
    fn list<T>(&mut self, tag: u64, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let (found, count) = (self.word(4)?, self.count()?);
        if found == 0 && count == 0 {
            return Some(Vec::new());
        }
        // Each thing takes some bytes, so that a damaged count ends soon.
        if found != tag || count > self.bytes.len() {
            return None;
        }
        (0..count).map(|_| item(self)).collect()
    }

    fn attributes(&mut self) -> Option<Vec<(String, Option<f64>)>> {
        self.list(12, |h| {
            let name = h.name()?;
            let (kind, count) = (h.word(4)?, h.count()?);
            let content = h.padded(count.checked_mul(size_of_kind(kind)?)?)?;
            Some((name, (count == 1 && kind != CHARACTERS).then(|| number(kind, content)).flatten()))
        })
    }
}

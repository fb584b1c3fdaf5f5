//! Tables from NumPy's files: `.npy`, one array, and `.npz`, an archive of several.

use crate::data::{Table, TableColumn};
use dmci::ErrorCode;
use dmci::{Column, Datum, Diagnostic, Report};

/// What is wrong with a file.
fn wrong(name: &str, message: impl std::fmt::Display) -> Report {
    let help = "write it with numpy.save or numpy.savez: arrays of numbers in one or two dimensions";
    Report::from(Diagnostic::error(ErrorCode::E0702, format!("{name}: {message}")).help(help))
}

/// The table of an array: one column `x` for a vector, `x0`, `x1`, ... for a matrix, and the names of its
/// fields for a structured array.
pub fn from_npy(name: &str, bytes: &[u8]) -> Result<Table, Report> {
    let columns = array(bytes, "x").map_err(|e| wrong(name, e))?;
    table(name, columns)
}

/// The table of an archive: every array is a column, or several if it has two dimensions.
pub fn from_npz(name: &str, bytes: &[u8]) -> Result<Table, Report> {
    let mut columns = Vec::new();
    for (file, content) in entries(bytes).map_err(|e| wrong(name, e))? {
        let column = file.strip_suffix(".npy").unwrap_or(&file);
        columns.extend(array(&content, column).map_err(|e| wrong(name, format!("{file}: {e}")))?);
    }
    table(name, columns)
}

fn table(name: &str, columns: Vec<(String, Column)>) -> Result<Table, Report> {
    let rows = columns.first().map_or(0, |c| c.1.len());
    if let Some((other, column)) = columns.iter().find(|c| c.1.len() != rows) {
        let message = format!("{other} has {} rows, but {} has {rows}", column.len(), columns[0].0);
        return Err(wrong(name, message));
    }
    if rows == 0 {
        return Err(wrong(name, "it has no rows"));
    }
    let column = |(name, values)| TableColumn { name, values, stray: None, missing: Vec::new() };
    Ok(Table { name: name.to_string(), columns: columns.into_iter().map(column).collect(), rows, ..Table::default() })
}

/// The value of a key in the header, which is a Python dictionary.
fn header_field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{key}':"))? + key.len() + 3;
    Some(header[at..].trim_start())
}

/// The columns of an array.
fn array(bytes: &[u8], name: &str) -> Result<Vec<(String, Column)>, String> {
    let not = || "it is no array of NumPy".to_string();
    if bytes.get(..6) != Some(b"\x93NUMPY") {
        return Err(not());
    }
    let (start, length) = match bytes.get(6) {
        Some(1) => (10, u16::from_le_bytes([*bytes.get(8).ok_or_else(not)?, *bytes.get(9).ok_or_else(not)?]) as usize),
        Some(2 | 3) => {
            let word: [u8; 4] = bytes.get(8..12).and_then(|w| w.try_into().ok()).ok_or_else(not)?;
            (12, u32::from_le_bytes(word) as usize)
        }
        _ => return Err(not()),
    };
    let header = bytes.get(start..start + length).and_then(|h| std::str::from_utf8(h).ok()).ok_or_else(not)?;
    let body = &bytes[start + length..];
    let descr = header_field(header, "descr").ok_or_else(not)?;
    let fortran = header_field(header, "fortran_order").is_some_and(|t| t.starts_with("True"));
    let shape = header_field(header, "shape").and_then(|t| t.strip_prefix('(')).and_then(|t| t.split(')').next());
    let sizes: Vec<usize> = shape
        .ok_or_else(not)?
        .split(',')
        .map(str::trim)
        .filter(|t| !t.is_empty())
        .map(|t| t.parse().map_err(|_| not()))
        .collect::<Result<_, _>>()?;
    let (rows, columns) = match sizes[..] {
        [n] => (n, 1),
        [m, n] => (m, n),
        _ => return Err(format!("expected one or two dimensions, got {}", sizes.len())),
    };
    let text = |t: &str| t.trim_start_matches('\'').split('\'').next().unwrap_or_default().to_string();
    if descr.starts_with('[') {
        return fields(descr, body, rows);
    }
    let kind = Kind::of(&text(descr))?;
    let numbers = rows.checked_mul(columns).filter(|n| n.checked_mul(kind.size).is_some_and(|b| b <= body.len()));
    let Some(count) = numbers else { return Err("it ends too early".into()) };
    let values: Vec<Number> = (0..count).map(|i| kind.read(&body[i * kind.size..])).collect();
    let at = |row: usize, column: usize| if fortran { column * rows + row } else { row * columns + column };
    Ok((0..columns)
        .map(|c| {
            let label = if sizes.len() == 1 { name.to_string() } else { format!("{name}{c}") };
            (label, column((0..rows).map(|r| values[at(r, c)]).collect()))
        })
        .collect())
}

/// The columns of a structured array.
fn fields(descr: &str, body: &[u8], rows: usize) -> Result<Vec<(String, Column)>, String> {
    let list = descr.trim_start_matches('[').split(']').next().unwrap_or_default();
    let mut kinds = Vec::new();
    for part in list.split(')').filter(|p| p.contains('(')) {
        let words: Vec<&str> = part.split('\'').collect();
        let [_, name, _, kind, ..] = words[..] else { return Err("its fields cannot be read".into()) };
        kinds.push((name.to_string(), Kind::of(kind)?));
    }
    let size: usize = kinds.iter().map(|k| k.1.size).sum();
    if rows.checked_mul(size).is_none_or(|n| n > body.len()) {
        return Err("it ends too early".into());
    }
    let mut offset = 0;
    Ok(kinds
        .into_iter()
        .map(|(name, kind)| {
            let values = (0..rows).map(|r| kind.read(&body[r * size + offset..])).collect();
            offset += kind.size;
            (name, column(values))
        })
        .collect())
}

/// A number as it was stored.
#[derive(Clone, Copy)]
enum Number {
    Real(f64),
    Integer(i64),
}

fn column(values: Vec<Number>) -> Column {
    let integers = values.iter().map(|v| if let Number::Integer(i) = v { Some(Datum::Integer(*i)) } else { None });
    if let Some(list) = integers.collect::<Option<Vec<_>>>() {
        return Column::Data(list);
    }
    Column::Reals(
        values
            .iter()
            .map(|v| match v {
                Number::Real(x) => *x,
                Number::Integer(i) => *i as f64,
            })
            .collect(),
    )
}

/// How numbers are stored.
#[derive(Clone, Copy)]
struct Kind {
    letter: u8,
    size: usize,
    big: bool,
}

impl Kind {
    fn of(text: &str) -> Result<Kind, String> {
        let bytes = text.as_bytes();
        let (big, rest) = match bytes.first() {
            Some(b'>') => (true, &bytes[1..]),
            Some(b'<' | b'|' | b'=') => (false, &bytes[1..]),
            _ => (false, bytes),
        };
        let size = std::str::from_utf8(&rest[1.min(rest.len())..]).ok().and_then(|t| t.parse().ok());
        match (rest.first(), size) {
            (Some(&letter @ b'f'), Some(size @ (4 | 8))) => Ok(Kind { letter, size, big }),
            (Some(&letter @ (b'i' | b'u')), Some(size @ (1 | 2 | 4 | 8))) => Ok(Kind { letter, size, big }),
            (Some(&letter @ b'b'), Some(size @ 1)) => Ok(Kind { letter, size, big }),
            _ => Err(format!("expected numbers, got the type {text}")),
        }
    }

    /// The number at the beginning of some bytes, of which there are enough.
    fn read(self, bytes: &[u8]) -> Number {
        let mut word = [0; 8];
        word[..self.size].copy_from_slice(&bytes[..self.size]);
        if self.big {
            word[..self.size].reverse();
        }
        let bits = u64::from_le_bytes(word);
        let shift = 64 - 8 * self.size as u32;
        match (self.letter, self.size) {
            (b'f', 8) => Number::Real(f64::from_bits(bits)),
            (b'f', _) => Number::Real(f64::from(f32::from_bits(bits as u32))),
            (b'i', _) => Number::Integer((bits << shift) as i64 >> shift),
            (_, 8) if bits > i64::MAX as u64 => Number::Real(bits as f64),
            _ => Number::Integer(bits as i64),
        }
    }
}

/// The files of a ZIP archive: stored or deflated, as NumPy writes them.
fn entries(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let not = || "it is no archive of NumPy".to_string();
    let short = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]) as usize);
    let long = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let end =
        (0..bytes.len().saturating_sub(21)).rev().find(|&i| bytes[i..].starts_with(b"PK\x05\x06")).ok_or_else(not)?;
    let (count, mut at) = (short(end + 10).ok_or_else(not)?, long(end + 16).ok_or_else(not)?);
    let mut list = Vec::new();
    for _ in 0..count {
        if !bytes.get(at..).is_some_and(|b| b.starts_with(b"PK\x01\x02")) {
            return Err(not());
        }
        let (method, packed, size) = (short(at + 10), long(at + 20), long(at + 24));
        let (name, extra, comment, local) = (short(at + 28), short(at + 30), short(at + 32), long(at + 42));
        let (Some(method), Some(mut packed), Some(size), Some(local)) = (method, packed, size, local) else {
            return Err(not());
        };
        let (Some(name), Some(extra), Some(comment)) = (name, extra, comment) else { return Err(not()) };
        let file = bytes.get(at + 46..at + 46 + name).map(String::from_utf8_lossy).ok_or_else(not)?.into_owned();
        let data = local + 30 + short(local + 26).ok_or_else(not)? + short(local + 28).ok_or_else(not)?;
        if packed == u32::MAX as usize {
            // NumPy writes sizes of 64 bits into the extra field, even of small files.
            let wide = bytes.get(at + 46 + name + 4 + 8..).and_then(|b| b.get(..8)).ok_or_else(not)?;
            packed = usize::try_from(u64::from_le_bytes(wide.try_into().map_err(|_| not())?)).map_err(|_| not())?;
        }
        let content = data.checked_add(packed).and_then(|end| bytes.get(data..end)).ok_or_else(not)?;
        let content = match method {
            0 => content.to_vec(),
            8 => {
                let limit = if size == u32::MAX as usize { MOST_BYTES } else { size };
                miniz_oxide::inflate::decompress_to_vec_with_limit(content, limit)
                    .map_err(|_| format!("{file} is damaged"))?
            }
            other => return Err(format!("{file} is packed by the method {other}, expected stored or deflated")),
        };
        list.push((file, content));
        at += 46 + name + extra + comment;
    }
    Ok(list)
}

/// An array of reals in NumPy's format, row by row.
fn npy(shape: &[usize], numbers: &[f64]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", sizes.join(" "));
    // The numbers begin at a multiple of 64 bytes.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    out
}

/// An archive of arrays of reals, each with its name, its shape and its numbers row by row, as `numpy.load` reads
/// it. Fails if it would be larger than such archives can be.
pub fn write_npz(arrays: &[(String, Vec<usize>, Vec<f64>)]) -> Result<Vec<u8>, Report> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, shape, numbers) in arrays {
        let (file, content) = (format!("{name}.npy"), npy(shape, numbers));
        let begin = out.len();
        // Version, flags for names in UTF-8, stored as it is, a date that says nothing.
        let mut entry: Vec<u8> = [20u16, 0x800, 0, 0, 33].iter().flat_map(|n| n.to_le_bytes()).collect();
        entry.extend(crc32fast::hash(&content).to_le_bytes());
        entry.extend([content.len() as u32; 2].iter().flat_map(|n| n.to_le_bytes()));
        entry.extend([file.len() as u16, 0].iter().flat_map(|n| n.to_le_bytes()));
        out.extend(b"PK\x03\x04");
        out.extend(&entry);
        out.extend(file.as_bytes());
        out.extend(&content);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&entry);
        directory.extend([0; 10]);
        directory.extend((begin as u32).to_le_bytes());
        directory.extend(file.as_bytes());
        if out.len() > u32::MAX as usize {
            return Err(wrong("the archive", "it would be larger than four gigabytes"));
        }
    }
    let begin = out.len() as u32;
    out.extend(&directory);
    let count = arrays.len() as u16;
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count, count].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([directory.len() as u32, begin].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([0, 0]);
    Ok(out)
}

/// Most bytes of one array.
const MOST_BYTES: usize = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_read_back() {
        let arrays = [
            ("a".to_string(), vec![3], vec![1.0, -2.5, f64::MAX]),
            ("b c".to_string(), vec![3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ];
        let table = from_npz("t.npz", &write_npz(&arrays).unwrap()).unwrap();
        assert_eq!(table.column("a").unwrap().values, Column::Reals(vec![1.0, -2.5, f64::MAX]));
        assert_eq!(table.column("b c1").unwrap().values, Column::Reals(vec![2.0, 4.0, 6.0]));
    }
}

//! Several columns under one name: for each row a vector, and for a whole series a matrix with a row for each of its rows.

use super::refuse::refusal;
use crate::binding::{find_column, numbers};
use dmci::{Column, Datum, Report, Shape};
use dmci_table::{Table, TableColumn};
use std::borrow::Cow;

/// Most columns of a matrix.
const MOST: usize = 10_000;

/// The name of a matrix and those of its columns: `obs=pc1..pc10`, or `obs=u,v`.
pub fn parsed(text: &str) -> Result<(String, Vec<String>), Report> {
    let help = "write ‹matrix obs=pc1..pc10›, or ‹matrix obs=u,v,w›";
    let wrong = |message: String| refusal(message, help);
    let shape = || wrong(format!("‹matrix› must name a matrix and its columns, got {text}"));
    let (name, list) = text.split_once('=').ok_or_else(shape)?;
    let (name, mut columns) = (name.trim(), Vec::new());
    for part in list.split(',').map(str::trim) {
        match part.split_once("..") {
            _ if part.is_empty() => return Err(shape()),
            None => columns.push(part.to_string()),
            Some((first, last)) => {
                let range = range(first.trim(), last.trim());
                let counted =
                    || wrong(format!("the columns {part} of ‹matrix› do not count from one number to a later one"));
                columns.extend(range.ok_or_else(counted)?);
            }
        }
    }
    if name.is_empty() {
        return Err(shape());
    }
    Ok((name.to_string(), columns))
}

/// The names from one to another that differ in the number at their end.
fn range(first: &str, last: &str) -> Option<Vec<String>> {
    let split = |name: &str| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        Some((name[..stem].to_string(), name[stem..].to_string(), name[stem..].parse::<usize>().ok()?))
    };
    let ((stem, digits, low), (other, _, high)) = (split(first)?, split(last)?);
    if stem != other || low > high || high - low >= MOST {
        return None;
    }
    // Zeros in front fill the names up to one length.
    let width = if digits.starts_with('0') { digits.len() } else { 0 };
    Some((low..=high).map(|k| format!("{stem}{k:0width$}")).collect())
}

/// The names of the columns of matrices.
pub fn columns_of(matrices: &[String]) -> impl Iterator<Item = String> {
    matrices.iter().filter_map(|text| parsed(text).ok()).flat_map(|(_, columns)| columns)
}

/// The table with matrices, each as a column of vectors.
pub fn with_matrices<'a>(table: &'a Table, matrices: &[String]) -> Result<Cow<'a, Table>, Report> {
    let mut all = Cow::Borrowed(table);
    for text in matrices {
        let (name, columns) = parsed(text)?;
        if all.column(&name).is_some() {
            let message = format!("{} has a column {name} already", table.name);
            return Err(refusal(message, "give the ‹matrix› a name of its own"));
        }
        let columns: Vec<&TableColumn> = columns.iter().map(|c| find_column(table, c)).collect::<Result<_, _>>()?;
        let lists = columns.iter().map(|column| numbers(table, column)).collect::<Result<Vec<_>, _>>()?;
        let width = lists.len();
        let sample = Datum::Tensor(Shape::Vector(width as u32), vec![0.0; width]);
        let values = (0..table.rows).flat_map(|row| lists.iter().map(move |list| list[row])).collect();
        let mut missing: Vec<usize> = columns.iter().flat_map(|column| column.missing.iter().copied()).collect();
        missing.sort_unstable();
        missing.dedup();
        all.to_mut().columns.push(TableColumn { name, values: Column::Shaped(sample, values), stray: None, missing });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::parsed;

    #[test]
    fn ranges_count() {
        let columns = |text: &str| parsed(text).map(|(_, columns)| columns.join(" ")).map_err(|e| e.to_string());
        assert_eq!(columns("m = pc9..pc11, x"), Ok("pc9 pc10 pc11 x".into()));
        assert_eq!(columns("m=a08..a10"), Ok("a08 a09 a10".into()));
        for wrong in
            ["m", "=a", "m=", "m=a,,b", "m=a..b", "m=a2..a1", "m=a1..b2", "m=a1..a99999999", "m=a1..", "m=..a1"]
        {
            assert!(columns(wrong).is_err_and(|text| text.contains("matrix")), "{wrong}");
        }
    }
}

//! Tables as text.

/// Rows of cells as lines, each column as wide as its widest cell, two blanks between columns.
pub fn aligned<R: AsRef<[String]>>(rows: &[R]) -> String {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let cells = |i: usize| rows.iter().filter_map(move |row| row.as_ref().get(i));
    let widths: Vec<usize> =
        (0..columns).map(|i| cells(i).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.as_ref().iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_are_as_wide_as_their_cells_and_rows_may_be_short() {
        let rows = [vec!["name", "größe", ""], vec!["a"], vec!["longer", "1", "end"]];
        let rows = rows.map(|row| row.into_iter().map(String::from).collect::<Vec<String>>());
        assert_eq!(aligned(&rows), "name    größe\na\nlonger  1      end\n");
        assert_eq!(aligned::<Vec<String>>(&[]), "");
    }
}

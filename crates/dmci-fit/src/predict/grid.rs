//! Places at which a curve is predicted: `x=0:10:101, site=north`.

use crate::record::FitRecord;
use crate::request::refusal;
use dmci::Report;
use dmci_table::Table;

/// Most rows of a grid.
const MOST: usize = 10_000_000;

/// Values of columns, of which every combination is a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    columns: Vec<(String, Vec<String>)>,
}

fn wrong(message: String) -> Report {
    refusal(
        message,
        "write ‹at x=0:10:101› for 101 numbers from 0 to 10, or ‹at x=1,2,5›; columns follow each other: x=0:10:101,site=north",
    )
}

impl Grid {
    /// Reads what `at` says: `NAME=FROM:TO:COUNT` or `NAME=VALUE,VALUE`, several of them with commas between.
    pub fn parse(text: &str) -> Result<Grid, Report> {
        let mut columns: Vec<(String, Vec<String>)> = Vec::new();
        for piece in text.split(',').map(str::trim) {
            let value = match piece.split_once('=') {
                Some((name, value)) => {
                    let name = name.trim().to_string();
                    if columns.iter().any(|(other, _)| *other == name) {
                        return Err(wrong(format!("‹at› says {name} twice")));
                    }
                    columns.push((name, Vec::new()));
                    value.trim()
                }
                None => piece,
            };
            let Some((name, values)) = columns.last_mut() else {
                return Err(wrong(format!("‹at› must begin with a column, got {text}")));
            };
            if value.is_empty() || name.is_empty() {
                return Err(wrong(format!("‹at› has nothing on one side of a =, got {text}")));
            }
            match value.split(':').collect::<Vec<_>>()[..] {
                [one] => values.push(one.to_string()),
                [from, to, count] => values.extend(range(from, to, count, name)?),
                _ => return Err(wrong(format!("‹at› of {name} must be FROM:TO:COUNT, got {value}"))),
            }
        }
        Ok(Grid { columns })
    }

    /// The table of all combinations, the last column changing fastest. Without values for the groups of a fit, there
    /// are all of them.
    pub fn table(&self, fit: &FitRecord) -> Result<Table, Report> {
        let mut columns = self.columns.clone();
        if let Some(group) = fit.data.group.as_ref().filter(|g| columns.iter().all(|(name, _)| name != *g)) {
            columns.insert(0, (group.clone(), fit.data.groups.clone()));
        }
        let rows = columns.iter().try_fold(1usize, |rows, (_, values)| rows.checked_mul(values.len()));
        let Some(rows) = rows.filter(|rows| *rows <= MOST) else {
            return Err(refusal(format!("‹at› asks for more than {MOST} rows"), "ask for fewer"));
        };
        let escaped = |field: &str| format!("\"{}\"", field.replace('"', "\"\""));
        let mut text = columns.iter().map(|(name, _)| escaped(name)).collect::<Vec<_>>().join(",") + "\n";
        for row in 0..rows {
            let mut rest = row;
            let mut fields = vec![String::new(); columns.len()];
            for (field, (_, values)) in fields.iter_mut().zip(&columns).rev() {
                *field = escaped(&values[rest % values.len()]);
                rest /= values.len();
            }
            text += &fields.join(",");
            text.push('\n');
        }
        Table::from_csv("‹at›", text.as_bytes())
    }
}

/// Equidistant numbers, written as whole ones if all of them are.
fn range(from: &str, to: &str, count: &str, name: &str) -> Result<Vec<String>, Report> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let (Some(low), Some(high), Ok(count)) = (number(from), number(to), count.trim().parse::<usize>()) else {
        return Err(wrong(format!("‹at› of {name} must be FROM:TO:COUNT, got {from}:{to}:{count}")));
    };
    if count == 0 || count > MOST || count == 1 && low != high {
        return Err(wrong(format!("‹at› of {name} needs at least two numbers from {from} to {to}, got {count}")));
    }
    let steps = (count - 1).max(1) as f64;
    let numbers: Vec<f64> = (0..count).map(|i| low + (high - low) * (i as f64 / steps)).collect();
    let written_whole = !from.contains(['.', 'e', 'E']) && !to.contains(['.', 'e', 'E']);
    let is_whole = written_whole && numbers.iter().all(|x| x.fract() == 0.0 && x.abs() < 1e15);
    Ok(numbers.iter().map(|x| if is_whole { format!("{x:.0}") } else { format!("{x:?}") }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_products() {
        let table = Grid::parse("x=0:1:3, site=north,south").unwrap().table(&FitRecord::default()).unwrap();
        assert_eq!(table.rows, 6);
        assert_eq!(table.columns[0].reals().unwrap(), [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]);
        assert_eq!(table.columns[1].shown(1), "\"south\"");
        let whole = Grid::parse("n=0:10:3").unwrap().table(&FitRecord::default()).unwrap();
        assert_eq!(whole.columns[0].shown(1), "5");
        assert!(matches!(whole.columns[0].values, dmci::Column::Data(_)));
        for text in ["", "3", "x=", "=3", "x=1:2", "x=0:1:0", "x=0:1:1", "x=a:1:3", "x=1,x=2", "x=0:1:99999999999"] {
            assert!(Grid::parse(text).is_err(), "{text}");
        }
    }
}

//! The picture in letters, for the terminal.

use super::Picture;
use super::axis::Axis;

const ROWS: usize = 16;
const COLUMNS: usize = 72;

/// Draws data and fit as text, a line for every row of letters.
pub fn chart(picture: &Picture) -> String {
    let x = Axis::of(picture.points.iter().map(|p| p.x), 6, 0.0, picture.logarithmic.0);
    let curve = picture.curve.iter().flat_map(|piece| &piece.places).copied();
    let heights = picture.points.iter().flat_map(|p| [p.y, p.prediction]).chain(curve.clone().map(|c| c.1));
    let y = Axis::of(heights, 4, 0.0, picture.logarithmic.1);
    let mut cells = vec![[b' '; COLUMNS]; ROWS];
    let mut put = |at: (f64, f64), letter: u8| {
        let (column, row) = (x.place(at.0) * (COLUMNS - 1) as f64, (1.0 - y.place(at.1)) * (ROWS - 1) as f64);
        if column.is_finite() && row.is_finite() {
            // Places outside of the range saturate; all data are inside.
            let (column, row) = ((column.round() as usize).min(COLUMNS - 1), (row.round() as usize).min(ROWS - 1));
            let cell = &mut cells[row][column];
            *cell = match (*cell, letter) {
                (b'*' | b'@', b'o' | b'+') => b'@',
                _ => letter,
            };
        }
    };
    if picture.curve.is_empty() {
        picture.points.iter().for_each(|p| put((p.x, p.prediction), b'*'));
    }
    curve.for_each(|place| put(place, b'*'));
    picture.points.iter().for_each(|p| put((p.x, p.y), if p.held_out { b'+' } else { b'o' }));
    let labels = y.ticks.iter().map(|t| (((1.0 - y.place(*t)) * (ROWS - 1) as f64).round() as usize, y.label(*t)));
    let labels: Vec<(usize, String)> = labels.collect();
    let margin = labels.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
    let held_out = if picture.points.iter().any(|p| p.held_out) { ", + held out" } else { "" };
    let mut text = format!("{:margin$}   {}: o data{held_out}, * fit, @ both\n", "", picture.y);
    for (row, cells) in cells.iter().enumerate() {
        let label = labels.iter().find(|(at, _)| *at == row).map_or("", |(_, label)| label);
        let line: String = cells.iter().map(|&c| c as char).collect();
        text += &format!("{label:>margin$} |{}\n", line.trim_end());
    }
    text += &format!("{:margin$} +{}\n{:margin$}  {}\n", "", "-".repeat(COLUMNS), "", x_labels(&x, &picture.x));
    text
}

/// The labels below the horizontal axis, each centred at its tick where there is room, and the name.
fn x_labels(x: &Axis, name: &str) -> String {
    let mut line = String::new();
    for &tick in &x.ticks {
        let label = x.label(tick);
        let length = label.chars().count();
        let centre = (x.place(tick) * (COLUMNS - 1) as f64).round() as usize;
        let start = centre.saturating_sub(length / 2);
        let used = line.chars().count();
        if used == 0 || start > used {
            line += &format!("{}{label}", " ".repeat(start - used));
        }
    }
    format!("{line}  {name}")
}

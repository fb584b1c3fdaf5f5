//! The picture as SVG: data with the fitted curve, and below it what the curve leaves over.

use super::axis::Axis;
use super::{Picture, Point};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
/// Top and bottom of the two panels.
const MAIN: (f64, f64) = (72.0, 352.0);
const RESIDUALS: (f64, f64) = (376.0, 466.0);

const INK: &str = "#1f2933";
const FAINT: &str = "#e4e7eb";
const GREY: &str = "#616e7c";
const DATA: &str = "#2f6db3";
const FIT: &str = "#d64545";
const SHADE: &str = "#f0f4f8";

/// Points beyond this are thinned out: more cannot be told apart, and the file would be huge.
const MAX_POINTS: usize = 5000;

/// Draws the picture.
pub fn svg(picture: &Picture) -> String {
    let every = picture.points.len().div_ceil(MAX_POINTS).max(1);
    let points: Vec<Point> = picture.points.iter().copied().step_by(every).collect();
    // Many points are drawn small, so that they remain points.
    let size = match points.len() {
        0..400 => 3.2,
        400..1500 => 2.4,
        _ => 1.4,
    };
    let curve = picture.curve.iter().flatten();
    let x = Axis::new(points.iter().map(|p| p.x), 8, 0.02);
    let heights = points.iter().flat_map(|p| [p.y, p.prediction]).chain(curve.map(|c| c.1));
    let y = Axis::new(heights, 6, 0.05);
    let residual = |p: &Point| p.y - p.prediction;
    let left_over = Axis::new(points.iter().map(residual).flat_map(|r| [r, -r]), 4, 0.1);
    let mut out = String::new();
    let mut canvas = Canvas { out: &mut out, x: &x };
    canvas.header(picture, every);
    canvas.shade(picture);
    canvas.panel(MAIN, &y, &picture.y, None);
    canvas.panel(RESIDUALS, &left_over, "data \u{2212} fit", Some(&picture.x));
    canvas.open("residuals");
    canvas.line(LEFT, at(RESIDUALS, &left_over, 0.0), WIDTH - RIGHT, at(RESIDUALS, &left_over, 0.0), GREY);
    for point in &points {
        canvas.point("residual", point.x, at(RESIDUALS, &left_over, residual(point)), size * 0.8, point.held_out, DATA);
    }
    canvas.close();
    canvas.open("data");
    for point in &points {
        canvas.point("datum", point.x, at(MAIN, &y, point.y), size, point.held_out, DATA);
    }
    canvas.close();
    canvas.open("fit");
    canvas.band(&picture.band, &y);
    if picture.curve.is_empty() {
        for point in &points {
            canvas.point("prediction", point.x, at(MAIN, &y, point.prediction), size * 0.7, false, FIT);
        }
    }
    for piece in &picture.curve {
        canvas.curve(piece, &y);
    }
    canvas.close();
    canvas.legend(picture);
    out += "</svg>\n";
    out
}

/// The height on paper of a number in a panel.
fn at(panel: (f64, f64), axis: &Axis, number: f64) -> f64 {
    panel.1 - (panel.1 - panel.0) * axis.place(number)
}

struct Canvas<'a> {
    out: &'a mut String,
    x: &'a Axis,
}

impl Canvas<'_> {
    fn x(&self, number: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * self.x.place(number)
    }

    fn header(&mut self, picture: &Picture, every: usize) {
        let _ = writeln!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" \
             font-size=\"13\" fill=\"{INK}\">"
        );
        let _ = writeln!(self.out, "<title>{}</title>", escaped(&picture.title));
        let _ = writeln!(self.out, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>");
        self.text(LEFT, 30.0, "start", 17, INK, &picture.title);
        let note = if every > 1 { format!(" (one row in {every} is drawn)") } else { String::new() };
        self.text(LEFT, 52.0, "start", 13, GREY, &format!("{}{note}", picture.subtitle));
    }

    /// What lies behind the part that was not fitted.
    fn shade(&mut self, picture: &Picture) {
        let Some((low, high)) = picture.shade else { return };
        for (top, bottom) in [MAIN, RESIDUALS] {
            let (left, width, height) = (self.x(low), self.x(high) - self.x(low), bottom - top);
            let _ = writeln!(
                self.out,
                "<rect class=\"shade\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{SHADE}\"/>"
            );
        }
    }

    /// Where the curve may lie.
    fn band(&mut self, band: &[(f64, f64, f64)], axis: &Axis) {
        if band.is_empty() {
            return;
        }
        // Far beyond the panel nothing is drawn.
        let height = |v: f64| at(MAIN, axis, v).clamp(MAIN.0, MAIN.1);
        let mut path = String::new();
        for (i, &(x, low, _)) in band.iter().enumerate() {
            let _ = write!(path, "{}{:.1} {:.1}", if i == 0 { "M" } else { "L" }, self.x(x), height(low));
        }
        for &(x, _, high) in band.iter().rev() {
            let _ = write!(path, "L{:.1} {:.1}", self.x(x), height(high));
        }
        let _ = writeln!(self.out, "<path class=\"band\" d=\"{path}Z\" fill=\"{FIT}\" fill-opacity=\"0.18\"/>");
    }

    /// The frame of a panel: grid, ticks with labels, and the names of its axes.
    fn panel(&mut self, panel: (f64, f64), axis: &Axis, name: &str, x_name: Option<&str>) {
        self.open("axis");
        for &tick in &axis.ticks {
            let height = at(panel, axis, tick);
            self.line(LEFT, height, WIDTH - RIGHT, height, FAINT);
            self.text(LEFT - 8.0, height + 4.5, "end", 12, GREY, &axis.label(tick));
        }
        for &tick in &self.x.ticks {
            let x = self.x(tick);
            self.line(x, panel.0, x, panel.1, FAINT);
            if x_name.is_some() {
                let label = self.x.label(tick);
                self.text(x, panel.1 + 18.0, "middle", 12, GREY, &label);
            }
        }
        self.line(LEFT, panel.1, WIDTH - RIGHT, panel.1, GREY);
        self.line(LEFT, panel.0, LEFT, panel.1, GREY);
        let middle = (panel.0 + panel.1) / 2.0;
        let _ = writeln!(
            self.out,
            "<text transform=\"translate(20 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(name)
        );
        if let Some(name) = x_name {
            self.text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14.0, "middle", 13, INK, name);
        }
        self.close();
    }

    /// What the marks mean, right of the title, where no data are.
    fn legend(&mut self, picture: &Picture) {
        let mut entries = vec![("data", DATA, false, false)];
        if picture.points.iter().any(|p| p.held_out) {
            entries.push(("held out", DATA, true, false));
        }
        entries.push(("fit", FIT, false, !picture.curve.is_empty()));
        self.open("legend");
        let mut right = WIDTH - RIGHT;
        for (name, color, hollow, is_line) in entries.into_iter().rev() {
            // About seven units a letter.
            let text = right - 7.0 * name.len() as f64;
            self.text(text, 30.0, "start", 13, INK, name);
            let mark = text - 14.0;
            match is_line {
                true => self.stroke(&format!("M{} 26H{}", mark - 9.0, mark + 8.0), color),
                false => self.mark("key", mark, 26.0, 3.2, hollow, color),
            }
            right = mark - 24.0;
        }
        self.close();
    }

    fn open(&mut self, class: &str) {
        let _ = writeln!(self.out, "<g class=\"{class}\">");
    }

    fn close(&mut self) {
        self.out.push_str("</g>\n");
    }

    fn line(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, color: &str) {
        let _ = writeln!(
            self.out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"/>"
        );
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, size: u32, color: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{color}\">{text}</text>"
        );
    }

    fn point(&mut self, class: &str, x: f64, height: f64, radius: f64, hollow: bool, color: &str) {
        let x = self.x(x);
        if x.is_finite() && height.is_finite() {
            self.mark(class, x, height, radius, hollow, color);
        }
    }

    fn mark(&mut self, class: &str, x: f64, y: f64, radius: f64, hollow: bool, color: &str) {
        let style = match hollow {
            true => format!("fill=\"white\" stroke=\"{color}\" stroke-width=\"1.3\""),
            false => format!("fill=\"{color}\" fill-opacity=\"0.65\""),
        };
        let _ = writeln!(self.out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {style}/>");
    }

    fn curve(&mut self, piece: &[(f64, f64)], axis: &Axis) {
        let mut path = String::new();
        for &(x, y) in piece {
            let _ =
                write!(path, "{}{:.1} {:.1}", if path.is_empty() { "M" } else { "L" }, self.x(x), at(MAIN, axis, y));
        }
        self.stroke(&path, FIT);
    }

    fn stroke(&mut self, path: &str, color: &str) {
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>"
        );
    }
}

/// Text that XML cannot misread; characters that XML forbids are dropped.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

//! The picture as strokes of a pen: data with the fitted curve, and below it what the curve leaves over.

use super::axis::Axis;
use super::{Picture, Point};

/// The size of the paper.
pub const WIDTH: f64 = 760.0;
/// Its height.
pub const HEIGHT: f64 = 520.0;

const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
/// Top and bottom of the two panels.
const MAIN: (f64, f64) = (72.0, 352.0);
const RESIDUALS: (f64, f64) = (376.0, 466.0);

/// The colour of text.
pub const INK: &str = "#1f2933";
const FAINT: &str = "#e4e7eb";
const GREY: &str = "#616e7c";
const DATA: &str = "#2f6db3";
const FIT: &str = "#d64545";
const SHADE: &str = "#f0f4f8";

/// Points beyond this are thinned out: more cannot be told apart, and the file would be huge.
const MAX_POINTS: usize = 5000;

/// Where a text stands with respect to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It has its middle there.
    Middle,
    /// It ends there.
    End,
}

/// What draws. Places are in units of the paper, from its upper left corner; colours are written `#rrggbb`.
pub trait Pen {
    /// What follows belongs together.
    fn open(&mut self, class: &str);
    /// The end of that.
    fn close(&mut self);
    /// A filled rectangle by left, top, width and height.
    fn rect(&mut self, class: &str, place: [f64; 4], color: &str);
    /// A thin line.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), color: &str);
    /// A filled shape that lets shine through what is below it.
    fn area(&mut self, class: &str, corners: &[(f64, f64)], color: &str);
    /// A thick line through places.
    fn curve(&mut self, places: &[(f64, f64)], color: &str);
    /// A disc, or a ring.
    fn mark(&mut self, class: &str, place: (f64, f64), radius: f64, hollow: bool, color: &str);
    /// A text on a line.
    fn text(&mut self, place: (f64, f64), anchor: Anchor, size: u32, color: &str, text: &str);
    /// A text that runs upwards, with its middle at the place.
    fn upwards(&mut self, place: (f64, f64), text: &str);
}

/// Draws the picture.
pub fn draw(picture: &Picture, pen: &mut dyn Pen) {
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
    let mut canvas = Canvas { pen, x: &x };
    canvas.header(picture, every);
    canvas.shade(picture);
    canvas.panel(MAIN, &y, &picture.y, None);
    canvas.panel(RESIDUALS, &left_over, "data \u{2212} fit", Some(&picture.x));
    canvas.pen.open("residuals");
    let zero = at(RESIDUALS, &left_over, 0.0);
    canvas.pen.line((LEFT, zero), (WIDTH - RIGHT, zero), GREY);
    for point in &points {
        canvas.point("residual", point.x, at(RESIDUALS, &left_over, residual(point)), size * 0.8, point.held_out, DATA);
    }
    canvas.pen.close();
    canvas.pen.open("data");
    for point in &points {
        canvas.point("datum", point.x, at(MAIN, &y, point.y), size, point.held_out, DATA);
    }
    canvas.pen.close();
    canvas.pen.open("fit");
    canvas.band(&picture.band, &y);
    if picture.curve.is_empty() {
        for point in &points {
            canvas.point("prediction", point.x, at(MAIN, &y, point.prediction), size * 0.7, false, FIT);
        }
    }
    for piece in &picture.curve {
        let places: Vec<(f64, f64)> = piece.iter().map(|&(x, v)| (canvas.x(x), at(MAIN, &y, v))).collect();
        canvas.pen.curve(&places, FIT);
    }
    canvas.pen.close();
    canvas.legend(picture);
}

/// The height on paper of a number in a panel.
fn at(panel: (f64, f64), axis: &Axis, number: f64) -> f64 {
    panel.1 - (panel.1 - panel.0) * axis.place(number)
}

struct Canvas<'a> {
    pen: &'a mut dyn Pen,
    x: &'a Axis,
}

impl Canvas<'_> {
    fn x(&self, number: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * self.x.place(number)
    }

    fn header(&mut self, picture: &Picture, every: usize) {
        self.pen.text((LEFT, 30.0), Anchor::Start, 17, INK, &picture.title);
        let note = if every > 1 { format!(" (one row in {every} is drawn)") } else { String::new() };
        self.pen.text((LEFT, 52.0), Anchor::Start, 13, GREY, &format!("{}{note}", picture.subtitle));
    }

    /// What lies behind the part that was not fitted.
    fn shade(&mut self, picture: &Picture) {
        let Some((low, high)) = picture.shade else { return };
        for (top, bottom) in [MAIN, RESIDUALS] {
            let place = [self.x(low), top, self.x(high) - self.x(low), bottom - top];
            self.pen.rect("shade", place, SHADE);
        }
    }

    /// Where the curve may lie.
    fn band(&mut self, band: &[(f64, f64, f64)], axis: &Axis) {
        if band.is_empty() {
            return;
        }
        // Far beyond the panel nothing is drawn.
        let height = |v: f64| at(MAIN, axis, v).clamp(MAIN.0, MAIN.1);
        let lower = band.iter().map(|&(x, low, _)| (self.x(x), height(low)));
        let upper = band.iter().rev().map(|&(x, _, high)| (self.x(x), height(high)));
        let corners: Vec<(f64, f64)> = lower.chain(upper).collect();
        self.pen.area("band", &corners, FIT);
    }

    /// The frame of a panel: grid, ticks with labels, and the names of its axes.
    fn panel(&mut self, panel: (f64, f64), axis: &Axis, name: &str, x_name: Option<&str>) {
        self.pen.open("axis");
        for &tick in &axis.ticks {
            let height = at(panel, axis, tick);
            self.pen.line((LEFT, height), (WIDTH - RIGHT, height), FAINT);
            self.pen.text((LEFT - 8.0, height + 4.5), Anchor::End, 12, GREY, &axis.label(tick));
        }
        for &tick in &self.x.ticks {
            let x = self.x(tick);
            self.pen.line((x, panel.0), (x, panel.1), FAINT);
            if x_name.is_some() {
                let label = self.x.label(tick);
                self.pen.text((x, panel.1 + 18.0), Anchor::Middle, 12, GREY, &label);
            }
        }
        self.pen.line((LEFT, panel.1), (WIDTH - RIGHT, panel.1), GREY);
        self.pen.line((LEFT, panel.0), (LEFT, panel.1), GREY);
        self.pen.upwards((20.0, (panel.0 + panel.1) / 2.0), name);
        if let Some(name) = x_name {
            self.pen.text(((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14.0), Anchor::Middle, 13, INK, name);
        }
        self.pen.close();
    }

    /// What the marks mean, right of the title, where no data are.
    fn legend(&mut self, picture: &Picture) {
        let mut entries = vec![("data", DATA, false, false)];
        if picture.points.iter().any(|p| p.held_out) {
            entries.push(("held out", DATA, true, false));
        }
        entries.push(("fit", FIT, false, !picture.curve.is_empty()));
        self.pen.open("legend");
        let mut right = WIDTH - RIGHT;
        for (name, color, hollow, is_line) in entries.into_iter().rev() {
            // About seven units a letter.
            let text = right - 7.0 * name.len() as f64;
            self.pen.text((text, 30.0), Anchor::Start, 13, INK, name);
            let mark = text - 14.0;
            match is_line {
                true => self.pen.curve(&[(mark - 9.0, 26.0), (mark + 8.0, 26.0)], color),
                false => self.pen.mark("key", (mark, 26.0), 3.2, hollow, color),
            }
            right = mark - 24.0;
        }
        self.pen.close();
    }

    fn point(&mut self, class: &str, x: f64, height: f64, radius: f64, hollow: bool, color: &str) {
        let x = self.x(x);
        if x.is_finite() && height.is_finite() {
            self.pen.mark(class, (x, height), radius, hollow, color);
        }
    }
}

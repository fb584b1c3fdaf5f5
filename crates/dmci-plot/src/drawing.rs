//! The picture as strokes of a pen: data with the fitted curve, and below it what the curve leaves over.

use super::axis::Axis;
use super::{Picture, Point};

/// The width of the paper.
pub const WIDTH: f64 = 760.0;
/// The height of one picture on it.
const HEIGHT: f64 = 520.0;
/// The height of a line of the legend of groups.
const LEGEND: f64 = 22.0;

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

/// The colours of groups: told apart without red and green, too, as far as so many can be.
const COLORS: [&str; 12] = [
    "#2f6db3", "#d64545", "#2f8f5b", "#b8860b", "#7a4fa3", "#3f9aa6", "#8c5a3c", "#c2589b", "#616e7c", "#6b8e23",
    "#e07b39", "#1f3f7a",
];

/// Bands that reach further than so many ranges of the data are cut: the data could not be seen otherwise.
const WIDEST_BAND: f64 = 3.0;

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

/// The height of the paper.
pub fn height(picture: &Picture) -> f64 {
    HEIGHT * (1 + picture.further.len()) as f64 + LEGEND * entries(picture).last().map_or(0.0, |e| e.0 as f64 + 1.0)
}

/// The names of groups with the line of the legend that each stands on and its place there.
fn entries(picture: &Picture) -> Vec<(usize, f64, &str)> {
    let (mut line, mut x) = (0, LEFT);
    let mut list = Vec::new();
    for name in &picture.groups {
        // About seven units a letter.
        let width = 34.0 + 7.0 * name.chars().count() as f64;
        if x + width > WIDTH - RIGHT && x > LEFT {
            (line, x) = (line + 1, LEFT);
        }
        list.push((line, x, name.as_str()));
        x += width;
    }
    list
}

/// A pen that draws further down.
struct Below<'a> {
    pen: &'a mut dyn Pen,
    by: f64,
}

impl Below<'_> {
    fn down(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x, y + self.by)
    }

    fn all(&self, places: &[(f64, f64)]) -> Vec<(f64, f64)> {
        places.iter().map(|place| self.down(*place)).collect()
    }
}

impl Pen for Below<'_> {
    fn open(&mut self, class: &str) {
        self.pen.open(class);
    }

    fn close(&mut self) {
        self.pen.close();
    }

    fn rect(&mut self, class: &str, [left, top, width, height]: [f64; 4], color: &str) {
        self.pen.rect(class, [left, top + self.by, width, height], color);
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), color: &str) {
        self.pen.line(self.down(from), self.down(to), color);
    }

    fn area(&mut self, class: &str, corners: &[(f64, f64)], color: &str) {
        self.pen.area(class, &self.all(corners), color);
    }

    fn curve(&mut self, places: &[(f64, f64)], color: &str) {
        self.pen.curve(&self.all(places), color);
    }

    fn mark(&mut self, class: &str, place: (f64, f64), radius: f64, hollow: bool, color: &str) {
        self.pen.mark(class, self.down(place), radius, hollow, color);
    }

    fn text(&mut self, place: (f64, f64), anchor: Anchor, size: u32, color: &str, text: &str) {
        self.pen.text(self.down(place), anchor, size, color, text);
    }

    fn upwards(&mut self, place: (f64, f64), text: &str) {
        self.pen.upwards(self.down(place), text);
    }
}

/// Draws the picture and those below it.
pub fn draw(picture: &Picture, pen: &mut dyn Pen) {
    for (i, one) in std::iter::once(picture).chain(&picture.further).enumerate() {
        draw_one(one, &mut Below { pen, by: HEIGHT * i as f64 });
    }
    let foot = HEIGHT * (1 + picture.further.len()) as f64;
    if picture.groups.is_empty() {
        return;
    }
    pen.open("groups");
    for (i, (line, x, name)) in entries(picture).into_iter().enumerate() {
        let y = foot + LEGEND * line as f64;
        pen.mark("key", (x + 6.0, y), 4.0, false, COLORS[i % COLORS.len()]);
        pen.text((x + 16.0, y + 4.5), Anchor::Start, 13, INK, name);
    }
    pen.close();
}

/// The colours of data and of fit in a group.
fn colors(picture: &Picture, group: usize) -> (&'static str, &'static str) {
    match picture.groups.is_empty() {
        true => (DATA, FIT),
        false => (COLORS[group % COLORS.len()], COLORS[group % COLORS.len()]),
    }
}

/// The bands, so far as they are drawn, and whether they are cut.
fn bands(picture: &Picture, points: &[Point]) -> (Vec<f64>, bool) {
    let curve = picture.curve.iter().flat_map(|piece| &piece.places).map(|c| c.1);
    let heights = points.iter().flat_map(|p| [p.y, p.prediction]).chain(curve).filter(|y| y.is_finite());
    let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
    let room = WIDEST_BAND * (high - low);
    let ends = picture.band.iter().chain(&picture.prediction).flat_map(|b| [b.1, b.2]).filter(|y| y.is_finite());
    let ends: Vec<f64> = ends.collect();
    let cut = ends.iter().any(|y| *y < low - room || *y > high + room);
    (ends.into_iter().filter(|y| *y >= low - room && *y <= high + room).collect(), cut)
}

/// Draws one picture.
fn draw_one(picture: &Picture, pen: &mut dyn Pen) {
    let every = picture.points.len().div_ceil(MAX_POINTS).max(1);
    let points: Vec<Point> = picture.points.iter().copied().step_by(every).collect();
    // Many points are drawn small, so that they remain points.
    let size = match points.len() {
        0..400 => 3.2,
        400..1500 => 2.4,
        _ => 1.4,
    };
    let curve = picture.curve.iter().flat_map(|piece| &piece.places);
    let (band_ends, cut) = bands(picture, &points);
    let x = Axis::of(points.iter().map(|p| p.x), 8, 0.02, picture.logarithmic.0);
    let heights = points.iter().flat_map(|p| [p.y, p.prediction]).chain(curve.map(|c| c.1)).chain(band_ends);
    let y = Axis::of(heights, 6, 0.05, picture.logarithmic.1);
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
        let color = colors(picture, point.group).0;
        canvas.point(
            "residual",
            point.x,
            at(RESIDUALS, &left_over, residual(point)),
            size * 0.8,
            point.held_out,
            color,
        );
    }
    canvas.pen.close();
    canvas.band("new", &picture.prediction, &y, GREY);
    canvas.pen.open("data");
    for point in &points {
        canvas.point("datum", point.x, at(MAIN, &y, point.y), size, point.held_out, colors(picture, point.group).0);
    }
    canvas.pen.close();
    canvas.pen.open("fit");
    canvas.band("band", &picture.band, &y, FIT);
    if picture.curve.is_empty() {
        for point in &points {
            // The colours of groups say whose it is; a ring says that it is no measurement.
            let (ring, color) = (!picture.groups.is_empty(), colors(picture, point.group).1);
            canvas.point("prediction", point.x, at(MAIN, &y, point.prediction), size * 0.7, ring, color);
        }
    }
    for piece in &picture.curve {
        let places = piece.places.iter().map(|&(x, v)| (canvas.x(x), at(MAIN, &y, v)));
        let places: Vec<(f64, f64)> = places.filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
        canvas.pen.curve(&places, colors(picture, piece.group).1);
    }
    canvas.pen.close();
    canvas.legend(picture, cut);
}

/// The height on paper of a number in a panel.
fn at(panel: (f64, f64), axis: &Axis, number: f64) -> f64 {
    panel.1 - (panel.1 - panel.0) * axis.place(number)
}

/// The mark of an entry of a legend.
enum Key {
    Disc,
    Ring,
    Line,
    Area,
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

    /// Where the curve, or new measurements, may lie.
    fn band(&mut self, class: &str, band: &[(f64, f64, f64)], axis: &Axis, color: &str) {
        if band.is_empty() {
            return;
        }
        // Far beyond the panel nothing is drawn; what has no place on a logarithmic axis lies below it.
        let height = |v: f64| Some(at(MAIN, axis, v)).filter(|y| y.is_finite()).unwrap_or(MAIN.1).clamp(MAIN.0, MAIN.1);
        let lower = band.iter().map(|&(x, low, _)| (self.x(x), height(low)));
        let upper = band.iter().rev().map(|&(x, _, high)| (self.x(x), height(high)));
        let corners: Vec<(f64, f64)> = lower.chain(upper).filter(|corner| corner.0.is_finite()).collect();
        self.pen.area(class, &corners, color);
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

    /// What the marks mean, right of the title, and what the bands mean below it, where no data are.
    fn legend(&mut self, picture: &Picture, cut: bool) {
        let grouped = !picture.groups.is_empty();
        let (data, fit) = if grouped { (GREY, GREY) } else { (DATA, FIT) };
        let mut entries = vec![("data", data, Key::Disc)];
        if picture.points.iter().any(|p| p.held_out) {
            entries.push(("held out", data, Key::Ring));
        }
        entries.push((
            "fit",
            fit,
            if !picture.curve.is_empty() {
                Key::Line
            } else if grouped {
                Key::Ring
            } else {
                Key::Disc
            },
        ));
        self.pen.open("legend");
        self.entries(&entries, 30.0);
        let mut bands = Vec::new();
        if !picture.band.is_empty() {
            bands.push((if cut { "95% curve (cut off)" } else { "95% curve" }, FIT, Key::Area));
        }
        if !picture.prediction.is_empty() {
            bands.push((if cut { "95% new data (cut off)" } else { "95% new data" }, GREY, Key::Area));
        }
        self.entries(&bands, 52.0);
        self.pen.close();
    }

    /// Entries of a legend on one line, up to the right end.
    fn entries(&mut self, entries: &[(&str, &str, Key)], y: f64) {
        let mut right = WIDTH - RIGHT;
        for (name, color, key) in entries.iter().rev() {
            // About seven units a letter.
            let text = right - 7.0 * name.len() as f64;
            self.pen.text((text, y), Anchor::Start, 13, INK, name);
            let (mark, y) = (text - 14.0, y - 4.0);
            match key {
                Key::Line => self.pen.curve(&[(mark - 9.0, y), (mark + 8.0, y)], color),
                Key::Area => {
                    let corners = [(-9.0, -5.0), (8.0, -5.0), (8.0, 5.0), (-9.0, 5.0)];
                    self.pen.area("key", &corners.map(|(dx, dy)| (mark + dx, y + dy)), color);
                }
                Key::Disc | Key::Ring => self.pen.mark("key", (mark, y), 3.2, matches!(key, Key::Ring), color),
            }
            right = mark - 24.0;
        }
    }

    fn point(&mut self, class: &str, x: f64, height: f64, radius: f64, hollow: bool, color: &str) {
        let x = self.x(x);
        if x.is_finite() && height.is_finite() {
            self.pen.mark(class, (x, height), radius, hollow, color);
        }
    }
}

//! Figures as SVG: lines and points over axes that may be logarithmic.

use crate::Axis;
use dmci_ops::real::{exp, floor, log10};
use std::fmt::Write;

/// One line of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// Its points; what is not finite is left out.
    pub points: Vec<(f64, f64)>,
    /// Points rather than a line.
    pub marks: bool,
}

impl Line {
    /// A line.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Line {
        Line { name: name.into(), points, marks: false }
    }

    /// The same as points.
    pub fn marks(mut self) -> Line {
        self.marks = true;
        self
    }
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name of its file, without an ending.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The names of its axes.
    pub axes: (String, String),
    /// Which axes are logarithmic.
    pub logarithmic: (bool, bool),
    /// The lines.
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 52.0;
const COLORS: [&str; 8] = ["#2f6db3", "#d64545", "#2f8f5b", "#b8860b", "#7a4fa3", "#3f9aa6", "#8c5a3c", "#616e7c"];

/// An axis of numbers, or of their logarithms.
struct Scale {
    axis: Axis,
    logarithmic: bool,
}

impl Scale {
    fn new(numbers: impl Iterator<Item = f64>, logarithmic: bool) -> Scale {
        let numbers = numbers.filter(|x| x.is_finite() && (!logarithmic || *x > 0.0));
        let numbers: Vec<f64> = numbers.map(|x| if logarithmic { log10(x) } else { x }).collect();
        Scale { axis: Axis::new(numbers.into_iter(), 6, 0.03), logarithmic }
    }

    fn place(&self, x: f64) -> Option<f64> {
        let x = if self.logarithmic { log10(x) } else { x };
        let place = self.axis.place(x);
        (-0.001..=1.001).contains(&place).then_some(place)
    }

    /// Places with labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        let whole = |t: &&f64| !self.logarithmic || (**t - floor(**t)).abs() < 1e-9;
        let label = |t: f64| match self.logarithmic {
            false => self.axis.label(t),
            true if (-3.0..=4.0).contains(&t) => format!("{}", (exp(t * std::f64::consts::LN_10) * 1e6).round() / 1e6),
            true => format!("1e{t:.0}"),
        };
        self.axis.ticks.iter().filter(whole).map(|&t| (self.axis.place(t), label(t))).collect()
    }
}

impl Figure {
    /// A figure without lines.
    pub fn new(id: &str, title: &str, x: &str, y: &str, logarithmic: (bool, bool)) -> Figure {
        Figure { id: id.into(), title: title.into(), axes: (x.into(), y.into()), logarithmic, lines: Vec::new() }
    }

    /// Draws it.
    pub fn svg(&self) -> String {
        let all = || self.lines.iter().flat_map(|l| l.points.iter());
        let x = Scale::new(all().map(|p| p.0), self.logarithmic.0);
        let y = Scale::new(all().map(|p| p.1), self.logarithmic.1);
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let across = |place: f64| LEFT + (right - LEFT) * place;
        let up = |place: f64| bottom - (bottom - TOP) * place;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"system-ui, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#1f2933\">\n\
             <title>{0}</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"28\" font-size=\"16\">{0}</text>\n",
            escaped(&self.title)
        );
        let mut line = |x1: f64, y1: f64, x2: f64, y2: f64, color: &str| {
            let _ =
                writeln!(out, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"/>");
        };
        x.ticks().iter().for_each(|t| line(across(t.0), TOP, across(t.0), bottom, "#e4e7eb"));
        y.ticks().iter().for_each(|t| line(LEFT, up(t.0), right, up(t.0), "#e4e7eb"));
        line(LEFT, bottom, right, bottom, "#616e7c");
        line(LEFT, TOP, LEFT, bottom, "#616e7c");
        let mut text = |x: f64, y: f64, anchor: &str, more: &str, text: &str| {
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{more}>{}</text>",
                escaped(text)
            );
        };
        x.ticks().iter().for_each(|t| text(across(t.0), bottom + 18.0, "middle", "", &t.1));
        y.ticks().iter().for_each(|t| text(LEFT - 8.0, up(t.0) + 4.0, "end", "", &t.1));
        text((LEFT + right) / 2.0, HEIGHT - 12.0, "middle", "", &self.axes.0);
        let middle = (TOP + bottom) / 2.0;
        text(20.0, middle, "middle", &format!(" transform=\"rotate(-90 20 {middle:.1})\""), &self.axes.1);
        for (i, l) in self.lines.iter().enumerate() {
            text(right + 34.0, TOP + 14.0 + 20.0 * i as f64, "start", "", &l.name);
        }
        for (i, l) in self.lines.iter().enumerate() {
            let color = COLORS[i % COLORS.len()];
            let places = l.points.iter().filter_map(|p| Some((across(x.place(p.0)?), up(y.place(p.1)?))));
            let height = TOP + 10.0 + 20.0 * i as f64;
            if l.marks {
                for (px, py) in places.chain([(right + 20.0, height)]) {
                    let _ = writeln!(out, "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3\" fill=\"{color}\"/>");
                }
            } else {
                let path: Vec<String> = places.map(|(px, py)| format!("{px:.1},{py:.1}")).collect();
                let _ = writeln!(
                    out,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"/>\n\
                     <line x1=\"{:.1}\" y1=\"{height:.1}\" x2=\"{:.1}\" y2=\"{height:.1}\" stroke=\"{color}\" stroke-width=\"2.5\"/>",
                    path.join(" "),
                    right + 10.0,
                    right + 30.0,
                );
            }
        }
        out + "</svg>\n"
    }
}

/// Several figures on one sheet, in columns.
pub fn sheet(figures: &[Figure], columns: usize) -> String {
    let columns = columns.clamp(1, figures.len().max(1));
    let (width, height) = (WIDTH * columns as f64, HEIGHT * figures.len().div_ceil(columns) as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n"
    );
    for (i, figure) in figures.iter().enumerate() {
        let (x, y) = (WIDTH * (i % columns) as f64, HEIGHT * (i / columns) as f64);
        let _ = write!(out, "<g transform=\"translate({x} {y})\">\n{}</g>\n", figure.svg());
    }
    out + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_hold_their_lines_and_nothing_that_is_not_finite() {
        let mut figure = Figure::new("f", "a < b", "epoch", "loss", (false, true));
        figure.lines.push(Line::new("ours", vec![(0.0, 10.0), (1.0, f64::NAN), (2.0, 0.0), (3.0, 1e-3)]));
        figure.lines.push(Line::new("theirs", vec![(0.0, 10.0)]).marks());
        let svg = figure.svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("a &lt; b"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert_eq!(svg.matches("polyline").count(), 1);
        assert_eq!(svg.matches("circle").count(), 2);
    }
}

//! The picture as SVG.

use super::Picture;
use super::drawing::{Anchor, INK, Pen, WIDTH, draw, height};
use std::fmt::Write;

/// Draws the picture.
pub fn svg(picture: &Picture) -> String {
    let height = height(picture);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" \
         font-size=\"13\" fill=\"{INK}\">\n"
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&picture.title));
    let _ = writeln!(out, "<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>");
    draw(picture, &mut Writer { out: &mut out });
    out += "</svg>\n";
    out
}

struct Writer<'a> {
    out: &'a mut String,
}

impl Pen for Writer<'_> {
    fn open(&mut self, class: &str) {
        let _ = writeln!(self.out, "<g class=\"{class}\">");
    }

    fn close(&mut self) {
        self.out.push_str("</g>\n");
    }

    fn rect(&mut self, class: &str, [left, top, width, height]: [f64; 4], color: &str) {
        let _ = writeln!(
            self.out,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{color}\"/>"
        );
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), color: &str) {
        let _ = writeln!(
            self.out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"/>"
        );
    }

    fn area(&mut self, class: &str, corners: &[(f64, f64)], color: &str) {
        let path = path(corners);
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{path}Z\" fill=\"{color}\" fill-opacity=\"0.18\"/>");
    }

    fn curve(&mut self, places: &[(f64, f64)], color: &str) {
        let path = path(places);
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>"
        );
    }

    fn mark(&mut self, class: &str, (x, y): (f64, f64), radius: f64, hollow: bool, color: &str) {
        let style = match hollow {
            true => format!("fill=\"white\" stroke=\"{color}\" stroke-width=\"1.3\""),
            false => format!("fill=\"{color}\" fill-opacity=\"0.65\""),
        };
        let _ = writeln!(self.out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {style}/>");
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: u32, color: &str, text: &str) {
        let text = escaped(text);
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{color}\">{text}</text>"
        );
    }

    fn upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let _ = writeln!(
            self.out,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(text)
        );
    }
}

/// Places as the commands of a path.
fn path(places: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in places.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" });
    }
    path
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

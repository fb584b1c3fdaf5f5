//! The picture as PNG, for places that take no SVG.

use super::Picture;
use super::drawing::{Anchor, INK, Pen, WIDTH, draw, height};
use super::font::{Font, Line};
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};

/// Pixels to a unit of the paper.
const SCALE: f32 = 2.0;

/// Draws the picture.
pub fn png(picture: &Picture) -> Vec<u8> {
    let (width, height) = ((WIDTH as f32 * SCALE) as u32, (height(picture) as f32 * SCALE) as u32);
    let mut pixels = Pixmap::new(width, height).expect("the paper has a size");
    pixels.fill(Color::WHITE);
    let mut painter = Painter { pixels, font: Font::new() };
    draw(picture, &mut painter);
    painter.pixels.encode_png().expect("a buffer in memory takes all bytes")
}

struct Painter {
    pixels: Pixmap,
    font: Font,
}

/// The paint of a colour that is written `#rrggbb`.
fn paint(color: &str, opacity: f32) -> Paint<'static> {
    let number = u32::from_str_radix(color.trim_start_matches('#'), 16).unwrap_or(0);
    let [_, red, green, blue] = number.to_be_bytes();
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

/// A path through places; nothing if a place is not finite or there are too few of them.
fn path(places: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (i, &(x, y)) in places.iter().enumerate() {
        match i {
            0 => builder.move_to(x as f32, y as f32),
            _ => builder.line_to(x as f32, y as f32),
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

impl Painter {
    fn fill(&mut self, path: Option<Path>, color: &str, opacity: f32) {
        let Some(path) = path else { return };
        let place = Transform::from_scale(SCALE, SCALE);
        self.pixels.fill_path(&path, &paint(color, opacity), FillRule::Winding, place, None);
    }

    fn stroke(&mut self, path: Option<Path>, color: &str, width: f32) {
        let Some(path) = path else { return };
        let stroke = Stroke { width, line_join: LineJoin::Round, line_cap: LineCap::Butt, ..Stroke::default() };
        self.pixels.stroke_path(&path, &paint(color, 1.0), &stroke, Transform::from_scale(SCALE, SCALE), None);
    }
}

impl Pen for Painter {
    fn open(&mut self, _class: &str) {}

    fn close(&mut self) {}

    fn rect(&mut self, _class: &str, [left, top, width, height]: [f64; 4], color: &str) {
        let rect = Rect::from_xywh(left as f32, top as f32, width as f32, height as f32);
        self.fill(rect.map(PathBuilder::from_rect), color, 1.0);
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), color: &str) {
        self.stroke(path(&[from, to], false), color, 1.0);
    }

    fn area(&mut self, _class: &str, corners: &[(f64, f64)], color: &str) {
        self.fill(path(corners, true), color, 0.18);
    }

    fn curve(&mut self, places: &[(f64, f64)], color: &str) {
        self.stroke(path(places, false), color, 2.0);
    }

    fn mark(&mut self, _class: &str, (x, y): (f64, f64), radius: f64, hollow: bool, color: &str) {
        let circle = PathBuilder::from_circle(x as f32, y as f32, radius as f32);
        if hollow {
            self.fill(circle.clone(), "#ffffff", 1.0);
            self.stroke(circle, color, 1.3);
        } else {
            self.fill(circle, color, 0.65);
        }
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: u32, color: &str, text: &str) {
        let size = size as f32;
        let back = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.font.width(text, size) / 2.0,
            Anchor::End => self.font.width(text, size),
        };
        let line = Line { place: (x as f32 - back, y as f32), size, upwards: false };
        let letters = self.font.outline(text, &line);
        self.fill(letters, color, 1.0);
    }

    fn upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let size = 13.0;
        let place = (x as f32, y as f32 + self.font.width(text, size) / 2.0);
        let letters = self.font.outline(text, &Line { place, size, upwards: true });
        self.fill(letters, INK, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Piece, Point};

    fn picture(points: Vec<Point>, curve: Vec<Vec<(f64, f64)>>) -> Picture {
        Picture {
            title: "decay of a sample".into(),
            subtitle: "R\u{b2} 0.99".into(),
            x: "time".into(),
            y: "activity".into(),
            points,
            band: vec![(0.0, 0.5, 1.5), (1.0, 0.2, 1.2), (2.0, 0.1, 1.0)],
            curve: curve.into_iter().map(|places| Piece { group: 0, places }).collect(),
            shade: Some((1.5, 2.0)),
            ..Picture::default()
        }
    }

    fn point(x: f64, y: f64, held_out: bool) -> Point {
        Point { x, y, prediction: y + 0.1, held_out, group: 0 }
    }

    /// The pixels of a picture, and how many of them satisfy something.
    fn count(bytes: &[u8], wanted: impl Fn(u8, u8, u8) -> bool) -> usize {
        let pixels = Pixmap::decode_png(bytes).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (1520, 1040));
        assert!(pixels.pixels().iter().all(|p| p.alpha() == 255));
        pixels.pixels().iter().filter(|p| wanted(p.red(), p.green(), p.blue())).count()
    }

    #[test]
    fn data_curve_and_letters_are_drawn() {
        let points = vec![point(0.0, 1.0, false), point(1.0, 0.6, false), point(2.0, 0.4, true)];
        let red = |r: u8, g: u8, b: u8| r > 190 && g < 110 && b < 110;
        let dark = |r: u8, g: u8, b: u8| r < 60 && g < 70 && b < 80;
        let with = png(&picture(points.clone(), vec![vec![(0.0, 1.0), (1.0, 0.6), (2.0, 0.4)]]));
        let without = png(&picture(points, Vec::new()));
        assert!(count(&with, red) > count(&without, red) + 1000, "a curve of two units is thick");
        assert!((1000..20_000).contains(&count(&with, dark)), "letters have the colour of ink");
    }

    #[test]
    fn what_is_not_finite_or_far_away_is_left_out() {
        let odd = [(f64::NAN, 1.0), (f64::INFINITY, -1e300), (1e300, 5e-324), (0.0, -f64::INFINITY)];
        for (x, y) in odd {
            let points = vec![point(x, y, false), point(0.0, 1.0, true)];
            count(&png(&picture(points, vec![vec![(x, y), (y, x), (1.0, 1.0)]])), |_, _, _| true);
        }
        count(&png(&picture(vec![point(5e-324, 5e-324, false)], Vec::new())), |_, _, _| true);
        count(&png(&picture(Vec::new(), Vec::new())), |_, _, _| true);
    }
}

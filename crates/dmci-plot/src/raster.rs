//! Paper of pixels, with shapes that have smooth edges.

use super::letters::strokes;

/// A colour.
pub type Color = [u8; 3];

/// Pixels, row by row, red, green and blue, and the part of a shape that covers each.
#[derive(Clone, Debug)]
pub struct Raster {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The colours.
    pub pixels: Vec<u8>,
    cover: Vec<f32>,
    /// The columns and rows that the shape touches so far, the ends not included.
    touched: [usize; 4],
}

/// Parts of the height of a pixel in which areas are measured.
const SLICES: usize = 4;

impl Raster {
    /// White paper.
    pub fn new(width: usize, height: usize) -> Raster {
        let touched = [usize::MAX, 0, usize::MAX, 0];
        Raster { width, height, pixels: vec![255; 3 * width * height], cover: vec![0.0; width * height], touched }
    }

    /// Covers a stroke with round ends.
    pub fn stroke(&mut self, from: (f64, f64), to: (f64, f64), width: f64) {
        let reach = width / 2.0 + 0.5;
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let square = dx * dx + dy * dy;
        let [left, right, top, bottom] = self.bounds(
            (from.0.min(to.0) - reach, from.1.min(to.1) - reach),
            (from.0.max(to.0) + reach, from.1.max(to.1) + reach),
        );
        for y in top..bottom {
            for x in left..right {
                let (px, py) = (x as f64 + 0.5 - from.0, y as f64 + 0.5 - from.1);
                let along = if square > 0.0 { ((px * dx + py * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
                let (ox, oy) = (px - along * dx, py - along * dy);
                self.touch(x, y, reach - dmci_ops::real::sqrt(ox * ox + oy * oy));
            }
        }
    }

    /// Covers a ring between two radii.
    pub fn ring(&mut self, center: (f64, f64), inner: f64, outer: f64) {
        let reach = outer + 0.5;
        let [left, right, top, bottom] =
            self.bounds((center.0 - reach, center.1 - reach), (center.0 + reach, center.1 + reach));
        for y in top..bottom {
            for x in left..right {
                let (dx, dy) = (x as f64 + 0.5 - center.0, y as f64 + 0.5 - center.1);
                let distance = dmci_ops::real::sqrt(dx * dx + dy * dy);
                let inside = if inner > 0.0 { distance - inner + 0.5 } else { 1.0 };
                self.touch(x, y, inside.min(reach - distance));
            }
        }
    }

    /// Covers the inside of a shape with these corners.
    pub fn area(&mut self, corners: &[(f64, f64)]) {
        let low = |f: fn(&(f64, f64)) -> f64| corners.iter().map(f).fold(f64::INFINITY, f64::min);
        let high = |f: fn(&(f64, f64)) -> f64| corners.iter().map(f).fold(f64::NEG_INFINITY, f64::max);
        let [_, _, top, bottom] = self.bounds((low(|c| c.0), low(|c| c.1)), (high(|c| c.0), high(|c| c.1)));
        let mut crossings = Vec::new();
        for y in top..bottom {
            for slice in 0..SLICES {
                let height = y as f64 + (slice as f64 + 0.5) / SLICES as f64;
                crossings.clear();
                for (i, &(x1, y1)) in corners.iter().enumerate() {
                    let (x2, y2) = corners[(i + 1) % corners.len()];
                    if (y1 <= height) != (y2 <= height) {
                        crossings.push(x1 + (x2 - x1) * (height - y1) / (y2 - y1));
                    }
                }
                crossings.sort_by(f64::total_cmp);
                for pair in crossings.chunks_exact(2) {
                    self.span(y, pair[0], pair[1]);
                }
            }
        }
    }

    /// Covers the strokes of a text that begins at a place, upwards or to the right.
    pub fn text(&mut self, place: (f64, f64), size: f64, upwards: bool, text: &str) {
        for (from, to) in strokes(text) {
            let turned = |(x, y): (f64, f64)| match upwards {
                false => (place.0 + size * x, place.1 + size * y),
                true => (place.0 + size * y, place.1 - size * x),
            };
            self.stroke(turned(from), turned(to), size * 0.09);
        }
    }

    /// Paints what is covered, and covers nothing any more.
    pub fn paint(&mut self, color: Color, opacity: f64) {
        let [left, right, top, bottom] = self.touched;
        for y in top.min(bottom)..bottom {
            for x in left.min(right)..right {
                let at = y * self.width + x;
                let share = f64::from(std::mem::take(&mut self.cover[at])).clamp(0.0, 1.0) * opacity;
                for (old, new) in self.pixels[3 * at..3 * at + 3].iter_mut().zip(color) {
                    let mixed = f64::from(*old) + share * (f64::from(new) - f64::from(*old));
                    *old = (mixed + 0.5) as u8;
                }
            }
        }
        self.touched = [usize::MAX, 0, usize::MAX, 0];
    }

    /// A part of a slice of a row, from one place to another.
    fn span(&mut self, y: usize, from: f64, to: f64) {
        let (from, to) = (from.clamp(0.0, self.width as f64), to.clamp(0.0, self.width as f64));
        for x in from as usize..(to.ceil() as usize).min(self.width) {
            let share = (to.min(x as f64 + 1.0) - from.max(x as f64)).max(0.0);
            self.cover[y * self.width + x] += (share / SLICES as f64) as f32;
            self.grow(x, y);
        }
    }

    fn touch(&mut self, x: usize, y: usize, share: f64) {
        if share > 0.0 {
            let cover = &mut self.cover[y * self.width + x];
            *cover = cover.max(share.min(1.0) as f32);
            self.grow(x, y);
        }
    }

    fn grow(&mut self, x: usize, y: usize) {
        let [left, right, top, bottom] = &mut self.touched;
        (*left, *right) = ((*left).min(x), (*right).max(x + 1));
        (*top, *bottom) = ((*top).min(y), (*bottom).max(y + 1));
    }

    /// The pixels between two corners: columns from and to, rows from and to.
    fn bounds(&self, low: (f64, f64), high: (f64, f64)) -> [usize; 4] {
        // What is not a number becomes 0, and what lies beyond the paper its edge.
        let inside = |x: f64, most: usize| (x.max(0.0) as usize).min(most);
        [
            inside(low.0, self.width),
            inside(high.0.ceil(), self.width),
            inside(low.1, self.height),
            inside(high.1.ceil(), self.height),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(shape: impl Fn(&mut Raster)) -> f64 {
        let mut raster = Raster::new(40, 30);
        shape(&mut raster);
        raster.paint([0, 0, 0], 1.0);
        raster.pixels.chunks(3).map(|p| 1.0 - f64::from(p[0]) / 255.0).sum()
    }

    #[test]
    fn shapes_cover_their_areas() {
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 0.03 * expected, "{found} {expected}");
        close(painted(|r| r.area(&[(3.25, 4.5), (13.75, 4.5), (13.75, 9.5), (3.25, 9.5)])), 10.5 * 5.0);
        close(painted(|r| r.area(&[(5.0, 5.0), (25.0, 5.0), (5.0, 25.0)])), 200.0);
        close(painted(|r| r.ring((20.3, 15.1), 0.0, 6.0)), 36.0 * std::f64::consts::PI);
        close(painted(|r| r.ring((20.3, 15.1), 4.0, 6.0)), 20.0 * std::f64::consts::PI);
        close(painted(|r| r.stroke((8.0, 15.0), (28.0, 15.0), 2.0)), 40.0 + std::f64::consts::PI);
    }

    #[test]
    fn what_lies_beyond_the_paper_is_not_drawn() {
        let odd = [-1e300, 1e300, f64::NAN, f64::INFINITY];
        for a in odd {
            for b in odd {
                painted(|r| {
                    r.stroke((a, b), (a, b), 2.0);
                    r.ring((a, b), 0.0, 3.0);
                });
            }
        }
        assert_eq!(painted(|r| r.area(&[(-100.0, -100.0), (200.0, -100.0), (200.0, 200.0), (-100.0, 200.0)])), 1200.0);
    }
}

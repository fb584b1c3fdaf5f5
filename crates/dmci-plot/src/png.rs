//! The picture as PNG, for places that take no SVG.

use super::Picture;
use super::drawing::{Anchor, HEIGHT, INK, Pen, WIDTH, draw};
use super::letters::width;
use super::raster::{Color, Raster};
use crc32fast::hash as crc32;

/// Pixels to a unit of the paper.
const SCALE: f64 = 2.0;

/// Draws the picture.
pub fn png(picture: &Picture) -> Vec<u8> {
    let mut painter = Painter { raster: Raster::new((WIDTH * SCALE) as usize, (HEIGHT * SCALE) as usize) };
    draw(picture, &mut painter);
    file(&painter.raster)
}

struct Painter {
    raster: Raster,
}

fn scaled((x, y): (f64, f64)) -> (f64, f64) {
    (x * SCALE, y * SCALE)
}

/// The colour that `#rrggbb` stands for.
fn rgb(color: &str) -> Color {
    let number = u32::from_str_radix(color.trim_start_matches('#'), 16).unwrap_or(0);
    [(number >> 16) as u8, (number >> 8) as u8, number as u8]
}

impl Pen for Painter {
    fn open(&mut self, _class: &str) {}

    fn close(&mut self) {}

    fn rect(&mut self, _class: &str, [left, top, width, height]: [f64; 4], color: &str) {
        let corners = [(left, top), (left + width, top), (left + width, top + height), (left, top + height)];
        self.raster.area(&corners.map(scaled));
        self.raster.paint(rgb(color), 1.0);
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), color: &str) {
        self.raster.stroke(scaled(from), scaled(to), SCALE);
        self.raster.paint(rgb(color), 1.0);
    }

    fn area(&mut self, _class: &str, corners: &[(f64, f64)], color: &str) {
        let corners: Vec<(f64, f64)> = corners.iter().copied().map(scaled).collect();
        self.raster.area(&corners);
        self.raster.paint(rgb(color), 0.18);
    }

    fn curve(&mut self, places: &[(f64, f64)], color: &str) {
        for pair in places.windows(2) {
            self.raster.stroke(scaled(pair[0]), scaled(pair[1]), 2.0 * SCALE);
        }
        self.raster.paint(rgb(color), 1.0);
    }

    fn mark(&mut self, _class: &str, place: (f64, f64), radius: f64, hollow: bool, color: &str) {
        let (place, radius) = (scaled(place), radius * SCALE);
        self.raster.ring(place, 0.0, radius);
        if hollow {
            let half = 0.65 * SCALE;
            self.raster.paint([255; 3], 1.0);
            self.raster.ring(place, radius - half, radius + half);
        }
        self.raster.paint(rgb(color), if hollow { 1.0 } else { 0.65 });
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: u32, color: &str, text: &str) {
        let size = f64::from(size);
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - size * width(text) / 2.0,
            Anchor::End => x - size * width(text),
        };
        self.raster.text(scaled((left, y)), size * SCALE, false, text);
        self.raster.paint(rgb(color), 1.0);
    }

    fn upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let size = 13.0;
        self.raster.text(scaled((x, y + size * width(text) / 2.0)), size * SCALE, true, text);
        self.raster.paint(rgb(INK), 1.0);
    }
}

/// The file: what it is, its size, the compressed rows, the end.
fn file(raster: &Raster) -> Vec<u8> {
    let mut rows = Vec::with_capacity(raster.pixels.len() + raster.height);
    for row in raster.pixels.chunks(3 * raster.width) {
        // Each row says first how it is written: as differences to the pixel before, which are mostly 0.
        rows.push(1);
        rows.extend((0..row.len()).map(|i| row[i].wrapping_sub(if i < 3 { 0 } else { row[i - 3] })));
    }
    let mut size = Vec::new();
    size.extend((raster.width as u32).to_be_bytes());
    size.extend((raster.height as u32).to_be_bytes());
    // Eight bits of each of three colours, nothing else that there is a choice of.
    size.extend([8, 2, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&rows, 6);
    for (name, content) in [(b"IHDR", size), (b"IDAT", compressed), (b"IEND", Vec::new())] {
        out.extend((content.len() as u32).to_be_bytes());
        let checked = [&name[..], &content].concat();
        out.extend(&checked);
        out.extend(crc32(&checked).to_be_bytes());
    }
    out
}

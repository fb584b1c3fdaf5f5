//! Letters as outlines, from Noto Sans.

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The font.
pub struct Font {
    face: Face<'static>,
}

/// Where a text begins, how large it is, and whether it runs upwards instead of to the right.
pub struct Line {
    /// The left end of its base line.
    pub place: (f32, f32),
    /// The size of its letters.
    pub size: f32,
    /// Turned to the left by a quarter.
    pub upwards: bool,
}

impl Font {
    /// The font that comes with the crate.
    pub fn new() -> Font {
        Font { face: Face::parse(notosans::REGULAR_TTF, 0).expect("the font of the crate is whole") }
    }

    /// Letters with their advances in units of the font. A character that the font does not have is its empty box.
    fn glyphs<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (GlyphId, f32)> + 'a {
        text.chars().map(|c| {
            let glyph = self.face.glyph_index(if c.is_control() { ' ' } else { c }).unwrap_or_default();
            (glyph, f32::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)))
        })
    }

    /// How wide a text is.
    pub fn width(&self, text: &str, size: f32) -> f32 {
        let units: f32 = self.glyphs(text).map(|(_, advance)| advance).sum();
        units * size / f32::from(self.face.units_per_em())
    }

    /// The outlines of all letters of a text; nothing if it has none.
    pub fn outline(&self, text: &str, line: &Line) -> Option<Path> {
        let scale = line.size / f32::from(self.face.units_per_em());
        let mut builder = Outline { path: PathBuilder::new(), line, scale, from: 0.0 };
        for (glyph, advance) in self.glyphs(text) {
            self.face.outline_glyph(glyph, &mut builder);
            builder.from += advance;
        }
        builder.path.finish()
    }
}

struct Outline<'a> {
    path: PathBuilder,
    line: &'a Line,
    scale: f32,
    /// Where the letter begins, in units of the font.
    from: f32,
}

impl Outline<'_> {
    /// A place of the font, where y grows upwards, on the paper, where it grows downwards.
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let (along, up) = ((self.from + x) * self.scale, y * self.scale);
        let (left, base) = self.line.place;
        if self.line.upwards { (left - up, base - along) } else { (left + along, base - up) }
    }
}

impl OutlineBuilder for Outline<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_wide_as_their_letters() {
        let font = Font::new();
        assert!(font.width("WWW", 12.0) > 2.0 * font.width("iii", 12.0));
        assert_eq!(font.width("", 12.0), 0.0);
        assert!((font.width("abc", 24.0) - 2.0 * font.width("abc", 12.0)).abs() < 1e-3);
        let line = |upwards| Line { place: (0.0, 0.0), size: 12.0, upwards };
        let (right, up) = (font.outline("scale", &line(false)).unwrap(), font.outline("scale", &line(true)).unwrap());
        assert!((right.bounds().width() - up.bounds().height()).abs() < 1e-3);
        assert!(font.outline(" ", &line(false)).is_none());
    }

    #[test]
    fn the_signs_of_our_texts_are_in_the_font() {
        let font = Font::new();
        for c in "\u{2212}\u{b2}\u{b1}\u{d7}\u{b7}\u{b5}\u{b0}\u{e9}\u{df}\u{3b1}\u{3bb}\u{3c3}".chars() {
            assert!(font.face.glyph_index(c).is_some(), "{c}");
        }
    }
}

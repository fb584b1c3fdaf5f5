//! Drawing diagnostics: for people a picture of the source, for programs JSON.

use dmci_value::{Diagnostic, Label, Severity, Source, Sources, Span, Spelling};
use std::borrow::Cow;
use std::fmt::Write;

/// Lines wider than this are cut around the place.
const WIDEST: usize = 120;
/// How much of a cut line is shown left of the place.
const BEFORE: usize = 40;
const TAB: usize = 4;

/// The diagnostic as text with a picture of its places, ending with a newline.
pub fn render(sources: &Sources, diagnostic: &Diagnostic, color: bool) -> String {
    let mut out = String::new();
    let paint = Paint { color };
    let (word, style) = match diagnostic.severity {
        Severity::Error => ("error", "1;31"),
        Severity::Warning => ("warning", "1;33"),
    };
    let head = paint.on(style, &format!("{word}[{}]", diagnostic.code));
    let _ = writeln!(out, "{head}{}", paint.on("1", &format!(": {}", clean(&spelled(&diagnostic.message)))));
    let marks = marks(sources, &diagnostic.labels);
    let gutter = marks.iter().map(|m| m.line.number).max().map_or(1, |n| n.to_string().len());
    let bar = paint.on("1;34", "|");
    let mut at = 0;
    while at < marks.len() {
        let source = marks[at].span.source;
        let end = marks[at..].iter().position(|m| m.span.source != source).map_or(marks.len(), |n| at + n);
        let arrow = paint.on("1;34", if at == 0 { "-->" } else { ":::" });
        let first = marks[at..end].iter().find(|m| m.primary).unwrap_or(&marks[at]);
        let place = sources.line_col(source, first.span.start);
        let name = spelled(sources.get(source).map_or("", |s| &s.name));
        let _ = writeln!(out, "{:gutter$}{arrow} {name}:{}:{}", "", place.line, place.column);
        let _ = writeln!(out, "{:gutter$} {bar}", "");
        picture(&mut out, &marks[at..end], gutter, &paint, style);
        let _ = writeln!(out, "{:gutter$} {bar}", "");
        at = end;
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "{} {}", paint.on("1;36", "help:"), clean(&spelled(help)));
    }
    out
}

struct Paint {
    color: bool,
}

impl Paint {
    fn on(&self, style: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// One line of a source.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    start: usize,
    text: &'a str,
}

/// A line and what is underlined in it, as byte offsets within the line.
struct Mark<'a> {
    line: Line<'a>,
    from: usize,
    to: usize,
    text: &'a str,
    primary: bool,
    span: Span,
}

/// What to underline, in the order of the picture: the primary label's source first, lines ascending.
fn marks<'a>(sources: &'a Sources, labels: &'a [Label]) -> Vec<Mark<'a>> {
    let mut marks = Vec::new();
    let mut order: Vec<u32> = Vec::new();
    for (i, label) in labels.iter().enumerate() {
        let Some(source) = sources.get(label.span.source) else { continue };
        if labels[..i].contains(label) {
            continue;
        }
        if !order.contains(&label.span.source.0) {
            order.push(label.span.source.0);
        }
        let start = boundary(source, label.span.start as usize);
        let end = boundary(source, label.span.end as usize).max(start);
        let (first, last) = (line_at(source, start), line_at(source, if end > start { end - 1 } else { end }));
        let mut add = |line: Line<'a>, from: usize, to: usize, text| {
            let from = from.saturating_sub(line.start).min(line.text.len());
            let to = to.saturating_sub(line.start).clamp(from, line.text.len());
            marks.push(Mark { line, from, to, text, primary: i == 0, span: label.span });
        };
        if first.number == last.number {
            add(first, start, end, &label.text);
        } else {
            let indent = last.text.len() - last.text.trim_start().len();
            add(first, start, usize::MAX, "");
            add(last, last.start + indent, end, &label.text);
        }
    }
    let position = |span: Span| order.iter().position(|&s| s == span.source.0);
    marks.sort_by_key(|m| (position(m.span), m.line.number, !m.primary));
    marks
}

/// The nearest character boundary at or before an offset.
fn boundary(source: &Source, offset: usize) -> usize {
    let mut offset = offset.min(source.text.len());
    while !source.text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn line_at(source: &Source, offset: usize) -> Line<'_> {
    let text = &*source.text;
    let offset = boundary(source, offset);
    let start = text[..offset].rfind('\n').map_or(0, |i| i + 1);
    let end = text[offset..].find('\n').map_or(text.len(), |i| offset + i);
    let number = text[..start].bytes().filter(|&b| b == b'\n').count() + 1;
    Line { number, start, text: text[start..end].trim_end_matches('\r') }
}

/// The lines of one source with their underlines.
fn picture(out: &mut String, marks: &[Mark], gutter: usize, paint: &Paint, style: &str) {
    let bar = paint.on("1;34", "|");
    let mut shown: Option<(usize, bool)> = None;
    for mark in marks {
        let (view, from, to) = view(mark);
        let cut = view.starts_with("...") || view.ends_with("...");
        // A long line is shown again for each of its marks, as each is cut around its own place.
        if shown != Some((mark.line.number, false)) {
            if shown.is_some_and(|(n, _)| mark.line.number > n + 1) {
                let _ = writeln!(out, "{}", paint.on("1;34", "..."));
            }
            let number = paint.on("1;34", &format!("{:>gutter$}", mark.line.number));
            let _ = writeln!(out, "{}", format!("{number} {bar} {view}").trim_end());
        }
        shown = Some((mark.line.number, cut));
        let (sign, style) = if mark.primary { ("^", style) } else { ("-", "1;34") };
        let mut under = sign.repeat(to - from);
        if !mark.text.is_empty() {
            let _ = write!(under, " {}", clean(mark.text));
        }
        let _ = writeln!(out, "{:gutter$} {bar} {:from$}{}", "", "", paint.on(style, &under));
    }
}

/// The line as it is shown, and the columns to underline in it.
fn view(mark: &Mark) -> (String, usize, usize) {
    let mut cells: Vec<(char, usize)> = Vec::new();
    let (mut from, mut to, mut column) = (None, None, 0);
    // No more than this is ever shown behind the place.
    let stop = mark.from + 8 * WIDEST;
    for (i, c) in mark.line.text.char_indices().take_while(|&(i, _)| i < stop) {
        from = if i >= mark.from { from.or(Some(column)) } else { None };
        to = if i >= mark.to { to.or(Some(column)) } else { None };
        let width = if c == '\t' { TAB - column % TAB } else { width(c) };
        cells.push((if is_shown(c) { c } else { '\u{FFFD}' }, width));
        column += width;
    }
    let from = from.unwrap_or(column);
    let to = to.unwrap_or(column).max(from + 1);
    if column <= WIDEST {
        let text = cells.iter().map(|&(c, w)| if c == '\t' { " ".repeat(w) } else { c.to_string() }).collect();
        return (text, from, to);
    }
    let left = from.saturating_sub(BEFORE);
    let right = left + WIDEST;
    let mut text = String::from(if left > 0 { "..." } else { "" });
    let shift = text.len();
    let mut at = 0;
    for &(c, w) in &cells {
        // A wide character that is cut in two is left out with its cell kept.
        match at >= left && at + w <= right {
            true if c == '\t' => text.push_str(&" ".repeat(w)),
            true => text.push(c),
            false if at < left && at + w > left => text.push_str(&" ".repeat(at + w - left)),
            false => {}
        }
        at += w;
    }
    if column > right {
        text.push_str("...");
    }
    let to = to.min(right).max(from + 1);
    (text, from - left + shift, to - left + shift)
}

/// Control characters and those that reorder text must not reach a terminal.
fn is_shown(c: char) -> bool {
    c == '\t' || !c.is_control() && !matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Text that may quote a program, made safe for a terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if is_shown(c) || c == '\n' { c } else { '\u{FFFD}' }).collect()
}

/// Columns of a character in a terminal, near enough.
fn width(c: char) -> usize {
    match c as u32 {
        0x300..=0x36F | 0x200B..=0x200F | 0xFE00..=0xFE0F | 0x20D0..=0x20FF => 0,
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// Settings that no front end has spelled are fields.
fn spelled(text: &str) -> Cow<'_, str> {
    Spelling::Field.spell(text)
}

/// The diagnostic as one JSON object.
pub fn to_json(sources: &Sources, diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let spans: Vec<String> = diagnostic.labels.iter().map(|label| label_json(sources, label)).collect();
    format!(
        "{{\"code\":{},\"severity\":\"{severity}\",\"fault\":\"{}\",\"message\":{},\"spans\":[{}],\"help\":{}}}",
        json_string(diagnostic.code.as_str()),
        diagnostic.fault.name(),
        json_string(&spelled(&diagnostic.message)),
        spans.join(","),
        diagnostic.help.as_deref().map_or("null".to_string(), |help| json_string(&spelled(help))),
    )
}

fn label_json(sources: &Sources, label: &Label) -> String {
    /// Longer texts are cut: start and end tell where the rest is.
    const LONGEST: usize = 500;
    let span = label.span;
    let (start, end) = (sources.line_col(span.source, span.start), sources.line_col(span.source, span.end));
    let text = sources.slice(span);
    let text = text.char_indices().nth(LONGEST).map_or(text, |(i, _)| &text[..i]);
    format!(
        "{{\"file\":{},\"start\":{},\"end\":{},\"line\":{},\"column\":{},\"end_line\":{},\"end_column\":{},\
         \"text\":{},\"label\":{}}}",
        json_string(&spelled(sources.get(span.source).map_or("", |s| &s.name))),
        span.start,
        span.end,
        start.line,
        start.column,
        end.line,
        end.column,
        json_string(text),
        json_string(&label.text),
    )
}

/// A JSON string, quotation marks included.
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_value::Origin;

    fn setup(text: &str) -> (Sources, impl Fn(usize, usize) -> Span + use<>) {
        let mut sources = Sources::default();
        let id = sources.add("a.scm", text, Origin::User);
        (sources, move |start, end| Span::new(id, start, end))
    }

    #[test]
    fn one_line_with_two_labels() {
        let (sources, span) = setup("(define (f x)\n  (+ x y))\n");
        let error = Diagnostic::error(dmci_value::ErrorCode::E0301, "y is not defined")
            .at_with(span(21, 22), "not found")
            .at_with(span(9, 10), "in this procedure")
            .help("did you mean x?");
        let expected = "\
error[E0301]: y is not defined
 --> a.scm:2:8
  |
1 | (define (f x)
  |          - in this procedure
2 |   (+ x y))
  |        ^ not found
  |
help: did you mean x?
";
        assert_eq!(render(&sources, &error, false), expected);
        assert!(render(&sources, &error, true).contains("\x1b[1;31merror[E0301]\x1b[0m"));
    }

    #[test]
    fn long_spans_show_first_and_last_line() {
        let (sources, span) = setup("(a\n b\n c\n\td)\n");
        let error = Diagnostic::error(dmci_value::ErrorCode::E0201, "malformed").at_with(span(0, 12), "this form");
        let expected = "\
error[E0201]: malformed
 --> a.scm:1:1
  |
1 | (a
  | ^^
...
4 |     d)
  |     ^^ this form
  |
";
        assert_eq!(render(&sources, &error, false), expected);
    }

    #[test]
    fn long_lines_are_cut_and_wide_characters_take_two_columns() {
        let text = format!("({} oops {})", "x ".repeat(5000), "y ".repeat(5000));
        let at = text.find("oops").unwrap();
        let (sources, span) = setup(&text);
        let shown = render(&sources, &Diagnostic::error(dmci_value::ErrorCode::E0301, "m").at(span(at, at + 4)), false);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[3].starts_with("1 | ...") && lines[3].ends_with("...") && lines[3].len() < 140);
        assert_eq!(lines[3].find("oops"), lines[4].find("^^^^"));
        let (sources, span) = setup("(\u{4e2d}\u{6587} x\x1b[2J)");
        let shown = render(&sources, &Diagnostic::error(dmci_value::ErrorCode::E0301, "m\x1b").at(span(8, 9)), false);
        assert!(shown.contains("\n  |       ^\n") && !shown.contains('\x1b'));
    }

    #[test]
    fn odd_places_do_not_panic() {
        for text in ["", "\n", "a", "\u{e9}\r\n\u{e9}"] {
            let (sources, span) = setup(text);
            for (a, b) in [(0, 0), (0, 9), (1, 1), (1, 2), (2, 1), (7, 9), (4, 5)] {
                let error = Diagnostic::error(dmci_value::ErrorCode::E0301, "m").at(span(a, b));
                assert!(render(&sources, &error, false).contains("^"));
                to_json(&sources, &error);
            }
        }
        let nowhere = Diagnostic::error(dmci_value::ErrorCode::E0301, "m").at(Span::new(dmci_value::SourceId(9), 0, 1));
        assert_eq!(render(&Sources::default(), &nowhere, false), "error[E0301]: m\n");
    }

    #[test]
    fn json_has_places_and_escapes() {
        let (sources, span) = setup("(f \"a\n\")");
        let error = Diagnostic::error(dmci_value::ErrorCode::E0303, "a \"b\"\u{1}").at_with(span(3, 7), "here");
        assert_eq!(
            to_json(&sources, &error),
            "{\"code\":\"E0303\",\"severity\":\"error\",\"fault\":\"program\",\"message\":\"a \\\"b\\\"\\u0001\",\
             \"spans\":[{\"file\":\"a.scm\",\"start\":3,\"end\":7,\"line\":1,\"column\":4,\"end_line\":2,\"end_column\":2,\
             \"text\":\"\\\"a\\n\\\"\",\"label\":\"here\"}],\"help\":null}"
        );
    }
}

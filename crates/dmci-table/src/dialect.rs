//! What stands between the fields of a text, which lines are comments, and how numbers are written: found, because
//! nobody knows it of his files.

use dmci::{Diagnostic, ErrorCode, Report};
use dmci_limits::memory;

/// Lines that are looked at.
const LINES: usize = 50;

/// Most bytes of an unpacked file.
const MOST: usize = 8 << 30;

/// A text with one kind of delimiter and without comments.
pub struct Plain {
    /// The text.
    pub text: Vec<u8>,
    /// What stands between its fields.
    pub delimiter: u8,
    /// The fields of its line `#units:`, if it has one.
    pub units: Option<Vec<String>>,
}

/// How the line of units begins.
const UNITS: &[u8] = b"#units:";

/// The text of a table without its comments, and what stands between its fields: `wanted`, or what is found.
pub fn plain(bytes: &[u8], wanted: Option<u8>) -> Plain {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_units = |line: &&[u8]| line.trim_ascii_start().starts_with(UNITS);
    let units = bytes.split_inclusive(|b| *b == b'\n').take(LINES).find(is_units);
    let text = match units {
        None => without_comments(bytes),
        Some(_) => without_comments(
            &bytes.split_inclusive(|b| *b == b'\n').filter(|l| !is_units(l)).collect::<Vec<_>>().concat(),
        ),
    };
    let delimiter = wanted.unwrap_or_else(|| delimiter(&text));
    // Blanks stand inside of units, too: between units there are commas then.
    let between = if delimiter == b' ' { b',' } else { delimiter };
    let units = units.map(|line| {
        let line = line.trim_ascii().strip_prefix(UNITS).unwrap_or_default();
        let unit = |field: &[u8]| String::from_utf8_lossy(field).trim().to_string();
        fields(line, if line.contains(&between) { between } else { b',' }).into_iter().map(unit).collect()
    });
    if delimiter != b' ' {
        return Plain { text, delimiter, units };
    }
    let line = |line: &[u8]| fields(line, b' ').join(&b","[..]);
    let lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(|l| line(l.trim_ascii())).collect();
    Plain { text: lines.join(&b'\n'), delimiter: b',', units }
}

/// The text without lines that begin with #, except the last one before the rows if it names their columns.
fn without_comments(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = false;
    // A quoted field may have several lines, of which none is a comment.
    let lines = bytes.split_inclusive(|b| *b == b'\n').map(|line| {
        let is_comment = !quoted && line.trim_ascii_start().starts_with(b"#");
        quoted ^= !is_comment && line.iter().filter(|b| **b == b'"').count() % 2 == 1;
        (line, is_comment)
    });
    let lines: Vec<(&[u8], bool)> = lines.collect();
    if !lines.iter().any(|(_, is_comment)| *is_comment) {
        return bytes.to_vec();
    }
    let mut kept: Vec<&[u8]> = lines.iter().filter(|(_, is_comment)| !is_comment).map(|(line, _)| *line).collect();
    let begin = lines.iter().position(|(line, is_comment)| !is_comment && !line.trim_ascii().is_empty());
    if let Some(begin) = begin.filter(|begin| *begin > 0 && lines[*begin - 1].1) {
        let head = lines[begin - 1].0.trim_ascii_start();
        let head = head.strip_prefix(b"#").unwrap_or(head);
        let delimiter = delimiter(&[head, lines[begin].0].concat());
        let (names, first) = (fields(head.trim_ascii(), delimiter), fields(lines[begin].0.trim_ascii(), delimiter));
        let is_number = |field: &&[u8]| std::str::from_utf8(field).is_ok_and(|f| f.trim().parse::<f64>().is_ok());
        if names.len() == first.len() && first.iter().any(is_number) && !names.iter().any(is_number) {
            kept.insert(0, head);
        }
    }
    kept.concat()
}

/// The fields of a line. Blanks between fields may be many, and those at its ends mean nothing.
fn fields(line: &[u8], delimiter: u8) -> Vec<&[u8]> {
    let (mut list, mut begin, mut quoted) = (Vec::new(), 0, false);
    let is_between = |byte: u8| byte == delimiter || delimiter == b' ' && byte == b'\t';
    for (i, &byte) in line.iter().enumerate() {
        quoted ^= byte == b'"';
        if is_between(byte) && !quoted {
            list.push(&line[begin..i]);
            begin = i + 1;
        }
    }
    list.push(&line[begin..]);
    if delimiter == b' ' {
        list.retain(|field| !field.is_empty());
    }
    list
}

/// What stands between the fields: the first of comma, semicolon, tab and blanks that all lines have equally often.
fn delimiter(text: &[u8]) -> u8 {
    let lines: Vec<&[u8]> = text
        .split(|b| *b == b'\n' || *b == b'\r')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .take(LINES)
        .collect();
    let Some(head) = lines.first() else { return b',' };
    let count = |line: &[u8], delimiter: u8| fields(line, delimiter).len();
    let even = |delimiter: &u8| {
        let fields = count(head, *delimiter);
        fields > 1 && lines.iter().all(|line| count(line, *delimiter) == fields)
    };
    let all = *b",;\t ";
    let uneven = || b",;\t".iter().copied().find(|delimiter| count(head, *delimiter) > 1);
    all.into_iter().find(even).or_else(uneven).unwrap_or(b',')
}

/// Writes decimal commas as points, where a text has them: it must have other delimiters than commas, and no number
/// with a decimal point.
pub fn decimal_points(columns: &mut [Vec<String>]) {
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    let with_point = |field: &str| {
        let point = field.replacen(',', ".", 1);
        (field.contains(',') && is_number(&point)).then_some(point)
    };
    let all = || columns.iter().flatten();
    if all().any(|f| f.contains('.') && is_number(f)) || !all().any(|f| with_point(f).is_some()) {
        return;
    }
    for field in columns.iter_mut().flatten() {
        if let Some(point) = with_point(field) {
            *field = point;
        }
    }
}

/// The bytes that a file packed by gzip holds.
pub fn gunzip(name: &str, bytes: &[u8]) -> Result<Vec<u8>, Report> {
    let wrong = |what: &str| {
        let message = format!("{name}: {what}");
        Report::from(Diagnostic::error(ErrorCode::E0702, message).help("unpack it with gunzip to see what is wrong"))
    };
    let [0x1f, 0x8b, 8, flags, ..] = *bytes else { return Err(wrong("it is no file of gzip")) };
    let mut at = 10;
    if flags & 4 != 0 {
        let (Some(low), Some(high)) = (bytes.get(at), bytes.get(at + 1)) else { return Err(wrong("it is cut off")) };
        at += 2 + usize::from(u16::from_le_bytes([*low, *high]));
    }
    // The name of the file and a comment, each up to a zero.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(end) = rest.iter().position(|b| *b == 0) else { return Err(wrong("it is cut off")) };
            at += end + 1;
        }
    }
    at += if flags & 2 != 0 { 2 } else { 0 };
    let (Some(packed), Some(tail)) = (bytes.get(at..), bytes.len().checked_sub(8)) else {
        return Err(wrong("it is cut off"));
    };
    // The file says how long it is unpacked; whether that is true is seen below.
    let length = bytes.get(tail + 4..).and_then(|n| <[u8; 4]>::try_from(n).ok()).map_or(0, u32::from_le_bytes);
    ensure(name, length as usize)?;
    let inflated = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, MOST);
    let Ok(text) = inflated else { return Err(wrong("it cannot be unpacked: it is damaged, cut off or too large")) };
    let sum = bytes.get(tail..tail + 4).and_then(|sum| <[u8; 4]>::try_from(sum).ok()).map(u32::from_le_bytes);
    match sum == Some(crc32fast::hash(&text)) {
        true => Ok(text),
        false => Err(wrong("its checksum is wrong: it is damaged, or several files of gzip stand behind each other")),
    }
}

/// Fails if there is no room for so many bytes of a table.
pub fn ensure(name: &str, bytes: usize) -> Result<(), Report> {
    if memory::allows(bytes) {
        return Ok(());
    }
    let message = format!("{name}: the table needs more memory than the command may take");
    let help = "raise the limit with ‹heap›, or give it fewer rows and columns";
    Err(Report::from(Diagnostic::error(ErrorCode::E0402, message).help(help)))
}

/// Endings of files that are no tables here, with what to do.
pub fn refuse(name: &str, end: &str) -> Result<(), Report> {
    let (what, help) = match end {
        "parquet" => ("Parquet", "write it as CSV: pandas.read_parquet(FILE).to_csv(\"rows.csv\", index=False)"),
        "feather" | "arrow" => {
            ("Arrow", "write it as CSV: pandas.read_feather(FILE).to_csv(\"rows.csv\", index=False)")
        }
        "xlsx" | "xls" | "ods" => ("spreadsheet", "save the sheet as CSV"),
        "h5" | "hdf5" | "nc4" => ("HDF5", "convert NetCDF-4 with nccopy -k classic, or write a table as CSV"),
        "zip" | "bz2" | "xz" | "zst" => ("packed", "unpack it, or pack it with gzip as .csv.gz"),
        _ => return Ok(()),
    };
    let message = format!("{name}: {what} files are not read");
    Err(Report::from(Diagnostic::error(ErrorCode::E0702, message).help(help)))
}

#[cfg(test)]
mod tests {
    use crate::Table;

    fn read(text: &str) -> Table {
        Table::from_bytes("t.csv", text.as_bytes(), &[]).unwrap()
    }

    fn columns(table: &Table) -> Vec<(String, Vec<f64>)> {
        table.columns.iter().map(|c| (c.name.clone(), c.reals().unwrap())).collect()
    }

    #[test]
    fn delimiters_comments_and_decimal_commas_are_found() {
        let expected = columns(&read("t,y\n0.5,1.25\n1.5,-2\n"));
        for text in [
            "t;y\n0,5;1,25\n1,5;-2\n",
            "t;y\n0.5;1.25\n1.5;-2\n",
            "t\ty\n0,5\t1,25\n1,5\t-2\n",
            "  t    y\n0.5  1.25\n1.5 -2\n",
            "\u{feff}# measured on Monday; by hand, twice\nt,y\n0.5,1.25\n# a pause\n1.5,-2\n",
            "# measured\n# t y\n0.5 1.25\n1.5 -2\n",
            "#t,y\n0.5,1.25\n1.5,-2\n",
            "\"t\";\"y\"\r\n\"0,5\";\"1,25\"\r\n1,5;-2\r\n",
        ] {
            assert_eq!(columns(&read(text)), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_meant_so_stays() {
        // A text may hold any other delimiter, and a comma in a table with points is none of a number.
        let t = read("name,y\na;b,1\nc d,2\n");
        assert_eq!(t.columns.len(), 2);
        let t = read("n;y\n1,500;2.5\n2,500;3.5\n");
        assert!(t.column("n").unwrap().reals().is_err());
        assert_eq!(read("#id,name\n1,a\n2,b\n").columns[1].name, "name");
        let long = read("a,b\n\"x\n# y\",1\n");
        assert_eq!(long.columns[0].shown(0), "\"x\\n# y\"");
        assert_eq!(read("my value\n1\n2\n").columns[0].name, "my value");
        let ragged = Table::from_bytes("t.csv", b"t,y\n0,1\n1\n", &[]).unwrap_err().to_string();
        assert!(ragged.contains("row 2 has 1 field, expected 2"), "{ragged}");
    }

    #[test]
    fn packed_files_are_read() {
        let text = b"t,y\n0,1\n1,2\n";
        let mut packed = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 255];
        packed.extend(b"t.csv\0");
        packed.extend(miniz_oxide::deflate::compress_to_vec(text, 6));
        packed.extend(crc32fast::hash(text).to_le_bytes());
        packed.extend((text.len() as u32).to_le_bytes());
        let table = Table::from_bytes("t.csv.gz", &packed, &[]).unwrap();
        assert_eq!(columns(&table)[1].1, [1.0, 2.0]);
        let mut damaged = packed.clone();
        let at = damaged.len() - 8;
        damaged[at] ^= 1;
        for bytes in [&damaged[..], &packed[..packed.len() / 2], b"no gzip", &packed[..12], b""] {
            assert!(Table::from_bytes("t.csv.gz", bytes, &[]).is_err());
        }
        let refused = Table::from_bytes("t.parquet", b"PAR1", &[]).unwrap_err().to_string();
        assert!(refused.contains("Parquet files are not read") && refused.contains("to_csv"), "{refused}");
    }
}

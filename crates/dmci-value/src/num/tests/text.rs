use super::*;

#[test]
fn reals_print_as_scheme_writes_them() {
    for (x, text) in [
        (1.0, "1.0"),
        (0.5, "0.5"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (123.456, "123.456"),
        (1e20, "100000000000000000000.0"),
        (1e21, "1e21"),
        (1.5e21, "1.5e21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (-1e-7, "-1e-7"),
        (INF, "+inf.0"),
        (-INF, "-inf.0"),
        (f64::NAN, "+nan.0"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
    ] {
        assert_eq!(format_real(x), text);
    }
}

#[test]
fn numbers_read_back_as_written() {
    let mut state = 9;
    for i in 0..20_000 {
        let x = if i % 2 == 0 { random_finite(&mut state) } else { random_real(&mut state) * 1e3 };
        let Ok(Some(Number::Real(y))) = parse(&format_real(x), 10) else { panic!("{x:e} does not read back") };
        assert_eq!(x.to_bits(), y.to_bits());
    }
    for n in integers(10, 300) {
        for radix in [2, 3, 8, 10, 16, 36] {
            let number = Number::integer(n.clone());
            assert_eq!(parse(&format_number(&number, radix), radix).unwrap(), Some(number));
        }
    }
}

#[test]
fn literals_of_all_forms() {
    for (text, expected) in [
        ("12", "12"),
        ("-12", "-12"),
        ("+12", "12"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("-.5e1", "-5.0"),
        ("-1.e2", "-100.0"),
        ("1e3", "1000.0"),
        ("1E-3", "0.001"),
        ("1s2", "100.0"),
        ("1d+2", "100.0"),
        ("1F2", "100.0"),
        ("1l2", "100.0"),
        ("1e400", "+inf.0"),
        ("1e-99999999999999999999", "0.0"),
        ("1/3", "0.3333333333333333"),
        ("-4/2", "-2"),
        ("#x-ff", "-255"),
        ("#XFF", "255"),
        ("#b101", "5"),
        ("#o17", "15"),
        ("#d10", "10"),
        ("#xA/5", "2"),
        ("#e1.0", "1"),
        ("#e1.5e1", "15"),
        ("#e150e-1", "15"),
        ("#e-1e25", "-10000000000000000000000000"),
        ("#e0e999999999999999999999", "0"),
        ("#e4/2", "2"),
        ("#i5", "5.0"),
        ("#i-0", "-0.0"),
        ("#i1/4", "0.25"),
        ("#i4/2", "2.0"),
        ("#i#x10", "16.0"),
        ("#x#i10", "16.0"),
        ("+inf.0", "+inf.0"),
        ("-INF.0", "-inf.0"),
        ("+nan.0", "+nan.0"),
        ("140737488355328", "140737488355328"),
    ] {
        let number = parse(text, 10).unwrap().unwrap_or_else(|| panic!("{text} is not read"));
        assert_eq!(format_number(&number, 10), expected, "{text}");
    }
    for text in [
        "", "+", "-", ".", "...", "+.", "-.e1", ".e1", "e5", "1e", "1e+", "1e5.0", "1.2.3", "abc", "+i", "1+2i", "1@2",
        "1_000", "1/0", "1/", "/2", "1/-2", "1.5/2", "#", "#x", "#xg", "#b2", "#x#x1", "#e#i1", "#q1", "1#", "inf.0",
        "nan.0", "inf", "NaN", "infinity", "--1", "+-1", " 1", "1 ", "#x1.5", "1e2e3", "é", "1é", "-1+", "1+", "#e",
        "0x10",
    ] {
        assert_eq!(parse(text, 10).unwrap(), None, "{text}");
    }
    assert_eq!(parse("ff", 16).unwrap(), Some(Number::Fix(255)));
    assert_eq!(parse("1e2", 16).unwrap(), Some(Number::Fix(482)));
    for (text, code) in [
        ("#e1.5", "E0502"),
        ("#e1/3", "E0502"),
        ("#e+inf.0", "E0502"),
        ("#e1e-5", "E0502"),
        ("#e1e-99999999999999999999", "E0502"),
        ("#e1e99999999999999999999", "E0406"),
        ("#e1e200000", "E0406"),
    ] {
        assert_eq!(parse(text, 10).unwrap_err().code, code, "{text}");
    }
    assert_eq!(parse(&"9".repeat(10_000_000), 10).unwrap_err().code, "E0406");
    assert_eq!(parse(&"0".repeat(10_000_000), 10).unwrap(), Some(Number::Fix(0)));
}

#[test]
fn parsing_never_panics() {
    let alphabet: Vec<char> = "0123456789+-.eE/#xbodifINFnasl@é".chars().collect();
    let mut state = 11;
    for _ in 0..200_000 {
        let length = next_random(&mut state) % 8;
        let text: String =
            (0..length).map(|_| alphabet[(next_random(&mut state) % alphabet.len() as u64) as usize]).collect();
        if let Ok(Some(Number::Real(x))) = parse(&text, 10) {
            assert!(!x.is_nan() || text.to_lowercase().contains("nan"), "{text}");
        }
    }
}

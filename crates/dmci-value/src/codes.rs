//! The table of stable codes, with the long explanation that `dmci explain` prints: one Markdown
//! file each in `codes/`. The first `scheme` block of a file is a program that causes the error.

macro_rules! table {
    ($($code:ident: $title:literal,)*) => {
        /// The stable code of an error or a warning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the table below and `ErrorCode::explanation` say what each code means")]
        pub enum ErrorCode {
            $($code,)*
        }

        impl ErrorCode {
            /// Every code, in order.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$code),*];

            /// The code as it is printed.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$code => stringify!($code),)*
                }
            }

            /// A short title.
            pub const fn title(self) -> &'static str {
                match self {
                    $(ErrorCode::$code => $title,)*
                }
            }

            /// What it means, an example that causes it, and how to repair that.
            pub const fn explanation(self) -> &'static str {
                match self {
                    $(ErrorCode::$code => include_str!(concat!("codes/", stringify!($code), ".md")),)*
                }
            }
        }
    };
}

table! {
    E0101: "unclosed parenthesis",
    E0102: "unexpected closing parenthesis",
    E0103: "mismatched bracket",
    E0104: "malformed number or token",
    E0105: "unterminated string",
    E0106: "bad escape in string",
    E0107: "bad character literal",
    E0108: "misplaced dot",
    E0109: "unterminated block comment",
    E0110: "nested too deeply",
    E0111: "unknown # syntax",
    E0112: "quote or datum comment without a datum",
    E0201: "malformed form",
    E0202: "duplicate name",
    E0203: "no syntax-rules pattern matches",
    E0204: "malformed syntax-rules",
    E0205: "keyword used as a variable",
    E0206: "define in an expression context",
    E0207: "unknown library in import",
    E0208: "misplaced recur",
    E0209: "macro expansion does not end",
    E0210: "define-library is not supported",
    E0211: "malformed params schema",
    E0212: "empty combination",
    E0213: "reserved system name defined",
    E0214: "include is not supported",
    E0301: "unbound variable",
    E0302: "wrong number of arguments",
    E0303: "wrong type",
    E0304: "not a procedure",
    E0305: "variable used before it has a value",
    E0306: "index out of range",
    E0307: "raised by (error ...)",
    E0308: "uncaught raise",
    E0309: "assertion failed",
    E0310: "set! of an undefined variable",
    E0311: "handler returned from raise",
    E0312: "key not found",
    E0313: "wrong number of values",
    E0314: "improper or circular list",
    E0401: "out of fuel",
    E0402: "out of memory",
    E0403: "recursion too deep",
    E0404: "too much output",
    E0405: "out of time",
    E0406: "integer too large",
    E0407: "datum nested too deeply",
    E0408: "procedure too large",
    E0409: "cancelled",
    E0410: "recorded path too long",
    E0501: "division by exact zero",
    E0502: "no exact value",
    E0601: "shapes do not fit together",
    E0602: "tensor of the wrong shape",
    E0603: "not a square matrix",
    E0604: "rows of different lengths",
    E0701: "bad --set value",
    E0702: "malformed table",
    E0703: "no column for the program",
    E0704: "unknown column",
    E0705: "text where a number is needed",
    E0706: "table with a number that is not finite",
    E0707: "column with the name of something else",
    E0708: "no rows to fit or to score",
    E0710: "programs cannot be composed",
    E0720: "a model cannot be exported",
    E0801: "nothing to fit",
    E0802: "start outside of a parameter's kind",
    E0803: "parameter that a fit does not know",
    E0804: "the program fails at the start of a fit",
    E0805: "prediction or loss that is not finite",
    E0806: "loss that lacks something",
    E0807: "prior that cannot be used",
    E0808: "result that does not fit the rows",
    E0809: "sampling without a likelihood",
    E0810: "sampling that failed",
    E0811: "sampler that is not built in",
    E0812: "intervals that cannot be computed",
    E0813: "setting that does not belong to the loss",
    E0814: "models that cannot be compared",
    E0820: "malformed formula",
    E0821: "formula where a program is expected",
    E0830: "dimensions that disagree",
    E0831: "unit that cannot be read",
    E0901: "cannot read file",
    E0902: "malformed .ncg file",
    E0903: "wrong .ncg version",
    E0904: "wrong .ncg checksum",
    E0905: "checkpoint of another fit",
    E0906: "file that is no fit",
    E0910: "usage",
    E9901: "internal error",
    W0501: "value that is not finite",
    W0502: "derivative that is not finite",
    W0503: "derivative that is zero",
    W0504: "number that is pinned",
    W0505: "many recorded paths",
    W0701: "target that does not vary",
    W0702: "rows left out of a fit",
    W0703: "rows beyond the data",
    W0704: "predictions without an interval",
    W0705: "column that is odd",
    W0801: "search that ended before an optimum",
    W0802: "loss that is flat",
    W0803: "parameter at its bound",
    W0804: "parameters that diverge",
    W0805: "local optimum",
    W0806: "fit no better than a constant",
}

impl ErrorCode {
    /// The code of a name such as `E0301`.
    pub fn find(name: &str) -> Option<ErrorCode> {
        ErrorCode::ALL.binary_search_by(|c| c.as_str().cmp(name)).ok().map(|i| ErrorCode::ALL[i])
    }

    /// The first `scheme` block of the explanation: a program that causes the error. Codes that no
    /// short program can cause have none.
    pub fn example(self) -> Option<&'static str> {
        let (_, rest) = self.explanation().split_once("```scheme\n")?;
        rest.split_once("```").map(|(program, _)| program)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_found() {
        assert!(ErrorCode::ALL.is_sorted_by(|a, b| a.as_str() < b.as_str()));
        assert!(ErrorCode::ALL.iter().all(|&c| ErrorCode::find(c.as_str()) == Some(c)));
        assert!(ErrorCode::find("E0000").is_none());
    }

    #[test]
    fn explanations_are_complete() {
        for code in ErrorCode::ALL {
            assert!(!code.title().is_empty() && code.explanation().lines().count() >= 1, "{code}");
            assert_eq!(code.explanation().matches("```").count() % 2, 0, "{code}");
            let class = &code.as_str()[1..3];
            let exempt = [ErrorCode::E0110, ErrorCode::E0405, ErrorCode::E0408, ErrorCode::E0409, ErrorCode::E0410]
                .contains(code)
                || class >= "07"
                || code.as_str().starts_with('W');
            assert_eq!(code.example().is_none(), exempt, "{code}");
        }
    }
}

//! Ten mistakes that are typical of the first hour, each with the whole message that a stranger reads.

mod support;

use support::{Workspace, dmci, split};

const ROWS: &str = "\
time,height,site
0,2.1,north
1,3.9,south
2,6.2,north
3,7.8,south
4,10.1,north
5,12.2,south
";

/// A mistake: what is typed behind `dmci fit`, and all that is said on standard error.
struct Mistake {
    name: &'static str,
    line: &'static str,
    code: i32,
    says: &'static str,
}

const MISTAKES: [Mistake; 14] = [
    Mistake {
        name: "a misspelt column in a program",
        line: "-e '(params (a free 1.0)) (* a tiem)' --data rows.csv --target height",
        code: 1,
        says: "\
error[E0703]: tiem is neither a parameter nor a column of rows.csv
help: did you mean the column time?
",
    },
    Mistake {
        name: "a misspelt target",
        line: "-e '(params (a free 1.0)) (* a time)' --data rows.csv --target hieght",
        code: 1,
        says: "\
error[E0704]: rows.csv has no column hieght
help: did you mean height? its columns are time, height, site
",
    },
    Mistake {
        name: "a formula that reads no column",
        line: "--formula 'height ~ a + b*x' --data rows.csv",
        code: 1,
        says: "\
error[E0704]: the formula reads no column: a, b and x are parameters
help: the columns are time, site; check the spelling
",
    },
    Mistake {
        name: "Python",
        line: "-e 'def f(time, a, b):
    return a*time + b' --data rows.csv --target height",
        code: 1,
        says: "\
error[E0821]: <text> is written in infix notation, and a program is written in Scheme
help: give a formula with --formula, or write it in Scheme: a*x + b is (+ (* a x) b)
",
    },
    Mistake {
        name: "infix in a program",
        line: "-e '(params (a free 1.0) (b free 0.0)) (a * time + b)' --data rows.csv --target height",
        code: 1,
        says: "\
error[E0804]: the program fails at the start in rows 1, 2, 3, 4, 5 and 1 more
help: repair the program, remove the rows, or start elsewhere with --set; below is the first failure

error[E0304]: 1.0 is not a procedure
 --> <text>:1:36
  |
1 | (params (a free 1.0) (b free 0.0)) (a * time + b)
  |                                    ^^^^^^^^^^^^^^
  |
help: in Scheme the operator comes first: (* a x), not (a * x)
",
    },
    Mistake {
        name: "** in a program",
        line: "-e '(params (a free 1.0)) (* a (** time 2))' --data rows.csv --target height",
        code: 1,
        says: "\
error[E0301]: the variable ** is not bound
 --> <text>:1:29
  |
1 | (params (a free 1.0)) (* a (** time 2))
  |                             ^^
  |
help: in Scheme a power is (expt x 2); or give the model as a formula with --formula
",
    },
    Mistake {
        name: "a symbol compared with text",
        line: "-e '(params (a free 1.0)) (* a time (if (eq? site (quote north)) 1.0 2.0))' --data rows.csv --target height",
        code: 0,
        says: "\
warning[W0705]: (eq? site 'north) is never true: site holds texts, and 'north is a symbol
help: write (string=? site \"north\")
",
    },
    Mistake {
        name: "a text that no row has",
        line: "-e '(params (a free 1.0)) (* a time (if (string=? site \"nroth\") 1.0 2.0))' --data rows.csv --target height",
        code: 0,
        says: "\
warning[W0705]: (string=? site \"nroth\") is never true: no row of site is \"nroth\"
help: did you mean \"north\"?
",
    },
    Mistake {
        name: "a parameter that the program does not use",
        line: "-e '(params (a free 1.0) (b free 0.0)) (* a time)' --data rows.csv --target height",
        code: 0,
        says: "\
warning[W0503]: no prediction depends on b, so it was not fitted
 --> <text>:1:22
  |
1 | (params (a free 1.0) (b free 0.0)) (* a time)
  |                      ^^^^^^^^^^^^
  |
help: use it in the program, or remove it from (params ...)
",
    },
    Mistake {
        name: "a wrong kind",
        line: "-e '(params (a postive 1.0)) (* a time)' --data rows.csv --target height",
        code: 1,
        says: "\
error[E0211]: there is no parameter kind `postive`
 --> <text>:1:12
  |
1 | (params (a postive 1.0)) (* a time)
  |            ^^^^^^^
  |
help: did you mean positive?
",
    },
    Mistake {
        name: "decimal commas between commas",
        line: "--formula 'height ~ a + b*time' --data commas.csv",
        code: 1,
        says: "\
error[E0702]: commas.csv: row 1 has 4 fields, expected 2
help: if its numbers have decimal commas, put semicolons or tabs between the fields
",
    },
    Mistake {
        name: "decimal commas in quotes",
        line: "--formula 'height ~ a + b*time' --data quoted.csv",
        code: 1,
        says: "\
error[E0705]: quoted.csv: column time has decimal commas, such as 1,5
help: write 1.5, or put semicolons between the fields of the file: then a comma may be a decimal comma
",
    },
    Mistake {
        name: "empty cells",
        line: "--formula 'height ~ a + b*time' --data gaps.csv",
        code: 1,
        says: "\
error[E0702]: gaps.csv: row 2 has nothing in column height
help: fill it in, or leave out rows with empty fields by --missing ''
",
    },
    Mistake {
        name: "a loop that never ends",
        line: "-e '(params (a free 1.0)) (let loop ((i 0)) (if (= i time) (* a i) (loop (+ i 2))))' --data rows.csv \
               --target height --fuel 10k",
        code: 3,
        says: "\
error[E0804]: the program fails at the start in rows 2, 4, 6
help: repair the program, remove the rows, or start elsewhere with --set; below is the first failure

error[E0401]: the program took more than 10000 steps
 --> <text>:1:64
  |
1 | (params (a free 1.0)) (let loop ((i 0)) (if (= i time) (* a i) (loop (+ i 2))))
  |                                                                ^^^^^^^^^^^^^^
  |
help: look for a loop that does not end, or raise the limit with --fuel; does a loop test = on a real number? It may \
step over it: test with >= instead
",
    },
];

#[test]
fn each_mistake_is_explained() {
    let space = Workspace::new("mistakes");
    space.write("rows.csv", ROWS);
    space.write("commas.csv", "time,height\n1,5,2,1\n2,5,3,9\n");
    space.write("quoted.csv", "time,height\n\"1,5\",2.1\n\"2,5\",3.9\n\"3\",6.2\n");
    space.write("gaps.csv", "time,height\n1,2.1\n2,\n3,6.2\n");
    for Mistake { name, line, code, says } in MISTAKES {
        let words = split(&format!("fit {line}"));
        let ran = dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (code, says), "{name}: dmci fit {line}");
    }
}

/// Others that a stranger makes: what is said, in short.
#[test]
fn other_mistakes_are_named() {
    let space = Workspace::new("mistakes-other");
    space.write("rows.csv", ROWS);
    for (line, says) in [
        ("fit --formula 'height = a*time' --data rows.csv", "~ to name a target"),
        ("fit --formula '(* a time)' --data rows.csv --target height", "this formula is a program in Scheme"),
        ("fit rows.csv --formula 'height ~ a*time'", "--formula does not go with PROGRAM"),
        ("fit '(params (a free 1.0)) (* a time)' --data rows.csv --target height", "write -e TEXT"),
        ("fit -e '(params (a real 1.0)) (* a time)' --data rows.csv --target height", "did you mean free?"),
        ("fit -e '(params (a free 1,0)) (* a time)' --data rows.csv --target height", "1.0, not 1,0"),
        ("fit -e '(params (a free 1.0)) (* a x y)' --data rows.csv --target height", "x, y are neither columns nor"),
        ("run -e '(let ((x 3)) (* 2 x^2))'", "a power is (expt x 2)"),
        ("run -e '(let ((a 3) (x 2)) (+ a*x 1))'", "a*x is (* a x)"),
    ] {
        let words = split(line);
        let ran = dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path());
        assert!(ran.code != 0 && ran.stderr.contains(says), "{line}: {}", ran.stderr);
    }
}

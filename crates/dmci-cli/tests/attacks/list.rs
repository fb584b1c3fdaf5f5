//! The attacks, and the files that they read.

use crate::support::Workspace;

/// A command that tries to take more than it is given.
pub struct Attack {
    pub name: &'static str,
    /// The command line, but for its limits.
    pub command: &'static str,
    /// What `p.scm` holds.
    pub program: &'static str,
    /// Standard input.
    pub input: &'static str,
    /// `--heap` in MiB; without one, the default of 1 GiB.
    pub heap: u64,
    /// The limit of time in seconds, and the option that it is given by; none if a file says it.
    pub seconds: f64,
    pub limit: &'static str,
    /// How many times the limit it may take: in a fit, --time is for each of its evaluations.
    pub times: f64,
    /// Whether it is tried in every test run.
    pub quick: bool,
}

const fn attack(name: &'static str, command: &'static str, program: &'static str, heap: u64, seconds: f64) -> Attack {
    Attack { name, command, program, input: "", heap, seconds, limit: "--time", times: 1.0, quick: false }
}

/// An attack that is over soon if the limits hold.
const fn quick(name: &'static str, command: &'static str, program: &'static str, heap: u64, seconds: f64) -> Attack {
    Attack { quick: true, ..attack(name, command, program, heap, seconds) }
}

const SEARCH: &str = "--time-limit";

const MATMULS: &str = "(params (a free 1.0)) (* a x (let loop ((k 0) (m (ones 300 300))) (if (< k 1000) (loop (+ k 1) (matmul m m)) (sum m))))";
const MANY_PARAMETERS: &str = "(params (a (vector 3000))) (* x (sum a))";
const EULER: &str = "(params (k free 1.0)) (let loop ((i 0) (u 1.0)) (if (< i 2000000) (loop (+ i 1) (- u (* 0.000001 k u (exp (- x))))) u))";
const ENDLESS: &str = "(params (a free 1.0)) (let loop ((y (* a x))) (if (< y -1e300) y (loop (* y 1.0000001))))";
const ENDLESS_TAPE: &str = "(params (x free 1.0)) (let loop ((y x)) (if (< y 0.0) y (loop (* y x))))";
const SHARED: &str = "(let loop ((t '(1)) (n 60)) (if (= n 0) t (loop (cons t t) (- n 1))))";
const LINE: &str = "(params (a free 1.0)) (+ (* a x) (hole h (x) (* 0.5 x)))";
const WAVES: &str =
    "(params (a free 1.0) (b free 0.1) (c free 0.3) (d free 0.2)) (+ (* a (exp (- (* b x)))) (* c (sin (* d x))))";
const NEAR: &str =
    "(params (a free 1.0)) (let loop ((y (* a x))) (if (or (< x 1000.0) (< y -1e300)) y (loop (* y 1.0000001))))";
const SCORED: &str =
    "{\"program\": \"(params (a free 1.0)) (let loop ((y (* a x))) (if (< y -1e300) y (loop (* y 1.0000001))))\"}\n";
const SCORED_MEMORY: &str =
    "{\"program\": \"(params (a free 1.0)) (let loop ((l '())) (if (pair? 1) a (loop (cons x l))))\"}\n";
const GROWING_MACRO: &str = "(define-syntax m (syntax-rules () ((_ x ...) (m x ... x ...)))) (m 1 2 3)";
const ENDLESS_MACRO: &str = "(define-syntax m (syntax-rules () ((_ x) (m x)))) (m 1)";
const NESTED_MATCHES: &str = "(define-syntax m (syntax-rules () ((_ (a ...) ...) '(((a ...) ...) ((a ...) ...)))))
(define-syntax n (syntax-rules () ((_ x y ...) (begin (m (x y ...) (x y ...)) (n y ...))) ((_) 0)))
(define-syntax o (syntax-rules () ((_ x ...) (n x ... x ... x ... x ... x ... x ... x ... x ...))))
(define-syntax p (syntax-rules () ((_ x ...) (o x ... x ... x ... x ... x ... x ... x ... x ...))))
(p 1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6 7 8 9 10)";

/// What strangers found, and more.
pub const ATTACKS: &[Attack] = &[
    // Values that are printed.
    quick("json-symbols", "run --json p.scm", "(make-vector 3000000 'a)", 256, 1.0),
    attack("json-many-symbols", "run --json p.scm", "(make-vector 30000000 'a)", 256, 1.0),
    quick("shared-tree", "run p.scm", SHARED, 64, 0.5),
    quick("shared-tree-json", "run --json p.scm", SHARED, 64, 0.5),
    attack(
        "shared-tree-displayed",
        "run p.scm",
        "(define t (let loop ((t '(1)) (n 60)) (if (= n 0) t (loop (cons t t) (- n 1))))) (display t)",
        64,
        0.5,
    ),
    attack(
        "shared-tree-in-error",
        "run p.scm",
        "(define t (let loop ((t '(1)) (n 60)) (if (= n 0) t (loop (cons t t) (- n 1))))) (error \"no\" t t t)",
        64,
        0.5,
    ),
    attack(
        "shared-tree-equal",
        "run p.scm",
        "(define (f n t) (if (= n 0) t (f (- n 1) (cons t t)))) (equal? (f 60 '(1)) (f 60 '(1)))",
        64,
        0.5,
    ),
    attack(
        "shared-tree-evaluated",
        "run p.scm",
        "(define (f n t) (if (= n 0) t (f (- n 1) (list '+ t t)))) (eval (f 60 1) (interaction-environment))",
        64,
        0.5,
    ),
    attack("long-string", "run p.scm", "(make-string 60000000 #\\x)", 1024, 2.0),
    attack("bignum-printed", "run p.scm", "(let loop ((x 7)) (if (< x 0) x (loop (* x x))))", 64, 1.0),
    attack("bignum-power", "run p.scm", "(number->string (expt 7 30000000))", 128, 1.0),
    // Data that grow.
    quick("live-list", "run p.scm", "(let loop ((l '())) (loop (cons 1 l)))", 64, 10.0),
    attack("live-list-large", "run p.scm", "(let loop ((l '())) (loop (cons 1 l)))", 512, 10.0),
    attack("live-vectors", "run p.scm", "(let loop ((l '())) (loop (cons (make-vector 100000 0) l)))", 256, 10.0),
    quick("doubled-string", "run p.scm", "(let loop ((s \"abc\")) (loop (string-append s s)))", 64, 10.0),
    attack("doubled-list", "run p.scm", "(let loop ((s '(1 2 3))) (loop (append s s)))", 128, 10.0),
    quick("deep-recursion", "run --depth 1000000000 p.scm", "(define (f n) (+ 1 (f n))) (f 1)", 128, 10.0),
    attack(
        "continuations",
        "run --depth 1000000000 p.scm",
        "(define all '()) (define (f n) (call/cc (lambda (k) (set! all (cons k all)))) (+ 1 (f n))) (f 1)",
        128,
        10.0,
    ),
    attack(
        "hash-table",
        "run p.scm",
        "(define h (make-equal-hash-table)) (let loop ((i 0)) (hash-table-set! h i (number->string i)) (loop (+ i 1)))",
        128,
        10.0,
    ),
    quick(
        "symbols",
        "run p.scm",
        "(let loop ((i 0)) (string->symbol (string-append \"a-long-name-of-a-symbol\" (number->string i))) (loop (+ i 1)))",
        64,
        10.0,
    ),
    attack(
        "string-port",
        "run p.scm",
        "(define p (open-output-string)) (let loop () (write-string \"0123456789012345678901234567890123456789\" p) (loop))",
        64,
        10.0,
    ),
    attack(
        "code-by-eval",
        "run p.scm",
        "(let loop ((i 0) (l '())) (loop (+ i 1) (cons (eval `(lambda (x) (+ x ,i (* x 2) (vector 1 2 3))) (interaction-environment)) l)))",
        64,
        10.0,
    ),
    attack(
        "output",
        "run --output-limit 8G p.scm",
        "(let loop () (display \"0123456789012345678901234567890123456789\") (loop))",
        64,
        2.0,
    ),
    // Tensors.
    quick("matmul", "run p.scm", "(sum (matmul (ones 3000 3000) (ones 3000 3000)))", 1024, 1.0),
    attack("inverse", "run p.scm", "(sum (inv (+ (eye 2000) (* 0.0001 (ones 2000 2000)))))", 1024, 1.0),
    attack("cholesky", "run p.scm", "(sum (cholesky (+ (eye 2000) (* 0.0001 (ones 2000 2000)))))", 1024, 1.0),
    quick(
        "large-tensors",
        "run p.scm",
        "(let loop ((m (ones 1000 1000)) (l '())) (loop (+ m 1.0) (cons m l)))",
        128,
        10.0,
    ),
    attack("outer-product", "run p.scm", "(sum (matmul (ones 100000 1) (ones 1 100000)))", 128, 10.0),
    // Gradients.
    quick(
        "endless-tape",
        "run p.scm",
        "(derivative (lambda (x) (let loop ((y x)) (if (< y 0) y (loop (* y x))))) 1.0)",
        16,
        10.0,
    ),
    attack("endless-gradient", "grad p.scm", ENDLESS_TAPE, 64, 10.0),
    attack(
        "gradient-of-tensors",
        "grad p.scm",
        "(params (a free 1.0)) (let loop ((m (* a (ones 300 300)))) (if (< (sum m) 0.0) 1.0 (loop (* m a))))",
        64,
        10.0,
    ),
    attack(
        "hessian",
        "grad --hessian p.scm",
        "(params (a (vector 300))) (let loop ((i 0) (s 0.0)) (if (< i 300) (loop (+ i 1) (+ s (* (sum a) (sin s)))) s))",
        128,
        2.0,
    ),
    attack("matmul-gradient", "grad --set x=1.5 p.scm", MATMULS, 1024, 1.0),
    attack("tape-of-much", "tape p.scm", ENDLESS_TAPE, 64, 10.0),
    attack(
        "emit-much",
        "emit --to c p.scm",
        "(params (x free 1.0)) (let loop ((i 0) (y x)) (if (< i 3000000) (loop (+ i 1) (if (< y 0.5) (* y x) (sin (+ y i)))) y))",
        128,
        5.0,
    ),
    // Texts.
    quick("macro-grows", "run p.scm", GROWING_MACRO, 64, 5.0),
    attack("macro-endless", "run --heap 1G p.scm", ENDLESS_MACRO, 0, 0.5),
    attack("macro-matches", "run p.scm", NESTED_MATCHES, 1024, 0.5),
    quick("macro-grows-check", "check p.scm", GROWING_MACRO, 64, 5.0),
    attack("macro-matches-check", "check p.scm", NESTED_MATCHES, 1024, 0.5),
    attack("ones-64M", "run ones.scm", "", 64, 20.0),
    attack("ones-64M-in-time", "run ones.scm", "", 4096, 0.5),
    attack("ones-16M", "run some.scm", "", 64, 20.0),
    attack("ones-16M-check", "check --json some.scm", "", 64, 20.0),
    attack("ones-64M-check", "check ones.scm", "", 64, 20.0),
    attack("names-20M", "run names.scm", "", 64, 20.0),
    attack("mistakes-16M", "check mistakes.scm", "", 64, 20.0),
    attack("long-literal", "run literal.scm", "", 64, 20.0),
    attack("forms-compiled", "run forms.scm", "", 64, 20.0),
    attack("forms-info", "info forms.scm", "", 0, 0.0),
    attack("forms-to-file", "compile forms.scm -o forms.ncg", "", 0, 0.0),
    attack("nested-lists", "run nested.scm", "", 64, 10.0),
    attack("forged-code", "run forged.ncg", "", 64, 10.0),
    // Rows.
    quick("eval-matmuls", "eval p.scm --data many.csv", MATMULS, 1024, 1.0),
    attack("eval-endless", "eval p.scm --data rows.csv", ENDLESS, 256, 1.0),
    attack("eval-many-parameters", "eval --grad p.scm --data many.csv", MANY_PARAMETERS, 64, 5.0),
    attack("eval-long-loops", "eval --grad p.scm --data rows.csv", EULER, 256, 1.0),
    attack(
        "eval-text",
        "eval --output p.scm --data many.csv",
        "(params (a free 1.0)) (display (make-string 900000 #\\x)) (* a x)",
        64,
        10.0,
    ),
    attack("large-table", "eval p.scm --data large.csv", "(params (a free 1.0)) (* a x)", 32, 20.0),
    attack("packed-table", "eval p.scm --data bomb.csv.gz", "(params (a free 1.0)) (* a x)", 64, 20.0),
    attack("wide-table", "eval p.scm --data wide.csv", "(params (a free 1.0)) (* a c1)", 32, 20.0),
    // Fits and searches.
    Attack {
        limit: SEARCH,
        ..quick("fit-many-parameters", "fit p.scm --data many.csv --target y --quiet", MANY_PARAMETERS, 1024, 2.0)
    },
    Attack { limit: SEARCH, ..attack("fit-ode", "fit p.scm --data rows.csv --target y --quiet", EULER, 1024, 1.0) },
    Attack {
        limit: SEARCH,
        ..attack("fit-endless", "fit p.scm --data rows.csv --target y --quiet", ENDLESS, 256, 1.0)
    },
    Attack {
        limit: SEARCH,
        ..attack("fit-matmuls", "fit p.scm --data many.csv --target y --quiet", MATMULS, 256, 1.0)
    },
    Attack {
        limit: SEARCH,
        ..attack("fit-memory", "fit p.scm --data many.csv --target y --quiet", MANY_PARAMETERS, 64, 2.0)
    },
    Attack { times: 2.0, ..attack("fit-in-time", "fit p.scm --data rows.csv --target y --quiet", ENDLESS, 256, 0.5) },
    Attack {
        limit: SEARCH,
        ..attack("compare-endless", "compare p.scm line.scm --data rows.csv --target y", ENDLESS, 256, 1.0)
    },
    Attack { limit: SEARCH, ..attack("search", "search --data rows.csv --target y", "", 0, 1.0) },
    Attack { limit: SEARCH, ..attack("search-many-rows", "search --data some.csv --target y", "", 0, 2.0) },
    Attack { limit: SEARCH, ..attack("search-long-series", "search --data series.csv --target y", "", 0, 1.0) },
    Attack { limit: SEARCH, ..attack("search-wide", "search --data wide-rows.csv --target y", "", 0, 1.0) },
    Attack { limit: SEARCH, ..attack("search-programs", "search endless.toml", "", 0, 1.0) },
    Attack {
        limit: SEARCH,
        ..attack("fit-bootstrap", "fit p.scm --data wavy.csv --target y --quiet --bootstrap 100000", WAVES, 256, 0.5)
    },
    Attack {
        limit: SEARCH,
        ..attack("fit-profile", "fit p.scm --data wavy.csv --target y --quiet --intervals profile", WAVES, 256, 0.3)
    },
    Attack {
        limit: SEARCH,
        ..attack("fit-frequencies", "fit p.scm --data wavy.csv --target y --quiet --diagnose", WAVES, 256, 0.3)
    },
    Attack {
        limit: SEARCH,
        ..attack("fit-adam", "fit p.scm --data rows.csv --target y --quiet --optimizer adam", EULER, 256, 1.0)
    },
    Attack {
        limit: SEARCH,
        ..attack("fit-formula", "fit --formula 'y ~ a*exp(-b*x) + c*sin(w*x)' --data wavy.csv --quiet", "", 256, 0.3)
    },
    Attack {
        limit: SEARCH,
        ..attack("compare", "compare p.scm line.scm --data wavy.csv --target y --cv 5", WAVES, 256, 0.5)
    },
    Attack {
        limit: SEARCH,
        ..attack(
            "forecast",
            "forecast p.scm --data wavy.csv --target y --time x --origins 5:15:0.1 --horizons 0.1",
            WAVES,
            256,
            0.5,
        )
    },
    attack("predict-endless", "predict fit.json --data far.csv", "", 256, 1.0),
    attack("predict-memory", "predict fit.json --data large.csv", "", 64, 20.0),
    // Commands that read from others.
    Attack { input: "(let loop () (loop))\n(+ 1 2)\n", ..attack("repl", "repl", "", 64, 0.5) },
    Attack {
        input: "(let loop ((l '())) (loop (cons 1 l)))\n(+ 1 2)\n",
        ..attack("repl-memory", "repl", "", 64, 10.0)
    },
    Attack {
        input: "{\"program\": \"(let loop () (loop))\"}\n{\"program\": \"(make-vector 1e9 0)\"}\n",
        ..attack("score", "score --data rows.csv --target y", "", 0, 0.0)
    },
    // One evaluation of a whole program has the time of the problem; a fit tries its start and eight draws.
    Attack {
        input: SCORED,
        limit: "",
        times: 10.0,
        ..attack("score-endless", "score --problem endless.toml", "", 0, 0.5)
    },
    Attack { input: SCORED_MEMORY, ..attack("score-memory", "score --problem memory.toml", "", 0, 0.0) },
];

/// Writes the files that an attack reads.
pub fn files(space: &Workspace, attack: &Attack) {
    space.write("p.scm", attack.program);
    space.write("line.scm", "(params (a free 1.0) (b free 0.0)) (+ b (* a x))");
    let rows = |n: usize| (0..n).map(|i| format!("{}.5,{}\n", i % 100, i % 7)).collect::<String>();
    let table = |n| format!("x,y\n{}", rows(n));
    let reads = |name: &str| attack.command.split(' ').any(|word| word == name);
    if reads("rows.csv") {
        space.write("rows.csv", table(20));
    }
    if reads("many.csv") {
        space.write("many.csv", table(1000));
    }
    if reads("some.csv") {
        space.write("some.csv", table(10_000));
    }
    if reads("large.csv") {
        space.write("large.csv", table(7_000_000));
    }
    if reads("far.csv") {
        space.write("far.csv", "x\n2000.5\n3000.5\n");
    }
    if reads("wavy.csv") {
        let wave =
            |i: usize| 2.0 * (-0.003 * i as f64).exp() + 0.5 * (0.012 * i as f64).sin() + 0.1 * ((i * i) as f64).sin();
        let rows: String = (0..2000).map(|i| format!("{},{}\n", i as f64 / 100.0, wave(i))).collect();
        space.write("wavy.csv", format!("x,y\n{rows}"));
    }
    if reads("series.csv") {
        let rows: String = (0..100_000).map(|i| format!("{}.5,{}\n", i % 1000, (i as f64).sin() + i as f64)).collect();
        space.write("series.csv", format!("x,y\n{rows}"));
    }
    if reads("wide-rows.csv") {
        let names: Vec<String> = (0..60).map(|i| format!("x{i}")).collect();
        let row = |r: usize| (0..61).map(|c| ((r * 61 + c) as f64).sin().to_string()).collect::<Vec<_>>().join(",");
        let rows: String = (0..2000).map(|r| row(r) + "\n").collect();
        space.write("wide-rows.csv", format!("{},y\n{rows}", names.join(",")));
    }
    if reads("fit.json") {
        space.write("fitted.csv", table(20));
        space.write("near.scm", NEAR);
        let words = ["fit", "near.scm", "--data", "fitted.csv", "--target", "y", "--quiet", "--out", "fit.json"];
        let ran = crate::support::dmci(&words, "", space.path());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    for (name, limits) in [("endless.toml", "time = 0.5"), ("memory.toml", "heap = 67108864")] {
        if reads(name) {
            space.write("rows.csv", table(20));
            space.write("hole.scm", LINE);
            space.write(
                name,
                format!("[fit]\ndata = \"rows.csv\"\ntarget = [\"y\"]\n{limits}\n[search]\nseeds = [\"hole.scm\"]\n"),
            );
        }
    }
    if reads("wide.csv") {
        let names: Vec<String> = (0..20_000).map(|i| format!("c{i}")).collect();
        let row = vec!["1.5"; 20_000].join(",");
        space.write("wide.csv", format!("{}\n{}", names.join(","), format!("{row}\n").repeat(400)));
    }
    if reads("ones.scm") {
        space.write("ones.scm", format!("'({})", "1 ".repeat(31 << 20)));
    }
    if reads("some.scm") {
        space.write("some.scm", format!("'({})", "1 ".repeat(8 << 20)));
    }
    if reads("names.scm") {
        let names: String = (0..6_000_000).map(|i| format!("name{i} ")).collect();
        space.write("names.scm", format!("'({})", &names[..20 << 20]));
    }
    if reads("mistakes.scm") {
        space.write("mistakes.scm", "(if) #z ".repeat(2 << 20));
    }
    if reads("literal.scm") {
        space.write("literal.scm", format!("(string-length \"{}\")", "x".repeat(20 << 20)));
    }
    if reads("forms.scm") {
        space.write("forms.scm", "(define (f x y) (+ x (* y 2) (if (< x 1) 2 3)))\n".repeat(100_000));
    }
    if reads("nested.scm") {
        space.write("nested.scm", format!("{}{}", "(+ 1 ".repeat(5_000), ")".repeat(5_000)));
    }
    if reads("forged.ncg") {
        // A right beginning, and lengths that no file has.
        let mut bytes = b"DMCI.NCG".to_vec();
        bytes.extend([1, 0, 0, 0]);
        bytes.extend([0xff; 64]);
        space.write("forged.ncg", bytes);
    }
    if reads("bomb.csv.gz") {
        let line = "1.5,2.5\n".repeat(1 << 17);
        let text = format!("x,y\n{}", line.repeat(200));
        let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        packed.extend(miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 6));
        packed.extend(crc32(text.as_bytes()).to_le_bytes());
        packed.extend((text.len() as u32).to_le_bytes());
        space.write("bomb.csv.gz", packed);
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (i, entry) in table.iter_mut().enumerate() {
        *entry = (0..8).fold(i as u32, |c, _| if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 });
    }
    !bytes.iter().fold(!0u32, |crc, &b| table[((crc ^ u32::from(b)) & 0xff) as usize] ^ (crc >> 8))
}

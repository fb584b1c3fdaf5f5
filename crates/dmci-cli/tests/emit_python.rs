//! What exports to Python compute at the edges of functions, as `eval` computes it there. Needs Python with NumPy and
//! SciPy, and looks at JAX and PyTorch if they are there; `DMCI_PYTHON` names the interpreter.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;
use support::{Workspace, dmci};

/// Functions of one number.
const ONE: &str = "digamma lgamma gamma relu sigmoid softplus exp expm1 log log1p sin cos tan asin acos atan sinh cosh \
                   tanh asinh acosh atanh cbrt erf erfc sqrt abs";

/// Where functions of one number cancel, overflow, have poles, or end.
const EDGES: &str = "0.0 -0.0 1.0 -1.0 -2.0 2.5 -2.5 -0.5 -20.5 -40.0 40.0 -700.0 1e-10 -1e-10 1e-20 171.5 -180.5 \
                     0.999999 -1e17 inf -inf nan";

/// Functions of two numbers, and where.
const TWO: &str = "expt atan truncate-quotient remainder modulo floor-quotient min max";
const PAIRS: &str = "0.0,0.0 0.0,2.0 0.0,-1.0 0.0,-0.5 0.0,inf -0.0,3.0 -0.0,-3.0 -2.0,3.0 -2.0,0.5 1.0,inf 1.0,nan \
                     inf,-1.0 -inf,2.0 -7.0,2.0 7.0,-2.0 -6.0,2.0 6.0,-2.0 3.0,inf";

const RUN: &str = "
import sys, warnings
import numpy as np
warnings.filterwarnings('ignore')
if sys.argv[1] == 'jax':
    import jax
    jax.config.update('jax_enable_x64', True)
for line in open('list.txt'):
    name, data = line.split()
    space = {'__name__': name}
    exec(open(name + '.py').read(), space)
    rows = np.genfromtxt(data, delimiter=',', skip_header=1, ndmin=2)
    count = len(space['PARAMETERS'])
    value, gradient, known = space['value_and_grad']([1.0] * count, list(rows.T))
    cells = [np.broadcast_to(np.asarray(x, float), len(rows)) for x in (value, *gradient, known)]
    for row in zip(*cells):
        print(' '.join(repr(float(x)) for x in row))
";

fn python() -> String {
    std::env::var("DMCI_PYTHON").unwrap_or("python3".into())
}

/// Programs with their data and the names of their parameters.
fn programs() -> Vec<(String, &'static str, &'static str)> {
    let one = ONE.split_whitespace().map(|f| (format!("({f} (* a x))"), "one.csv", "a"));
    let two = TWO.split_whitespace().map(|f| (format!("({f} (* a x) (* b y))"), "two.csv", "a,b"));
    let logit = ("(log (sigmoid (* a x)))".to_string(), "one.csv", "a");
    one.chain([logit]).chain(two).collect()
}

#[test]
fn special_values_in_python_are_those_of_dmci() {
    let folder = Workspace::new("emit-python");
    folder.write("one.csv", format!("x\n{}\n", EDGES.replace(' ', "\n")));
    folder.write("two.csv", format!("x,y\n{}\n", PAIRS.replace(' ', "\n")));
    folder.write("run.py", RUN);
    let programs = programs();
    let names: Vec<String> = (0..programs.len()).map(|i| format!("f{i}")).collect();
    let list = names.iter().zip(&programs).map(|(name, program)| format!("{name} {}\n", program.1));
    folder.write("list.txt", list.collect::<String>());
    let eval = |(text, data, _): &(String, &str, &str)| {
        let args = ["eval", "-e", text, "--data", data, "--set", "a=1.0", "--set", "b=1.0", "--grad"];
        let wrt = if *data == "one.csv" { "a" } else { "a,b" };
        dmci(&[&args[..], &["--wrt", wrt]].concat(), "", folder.path()).stdout
    };
    let expected: Vec<String> = programs.iter().map(eval).collect();
    for language in ["numpy", "jax", "torch"].into_iter().filter(|language| has(language)) {
        for (name, (text, data, wrt)) in names.iter().zip(&programs) {
            let args = ["emit", "-e", text, "--data", data, "--set", "a=1.0", "--set", "b=1.0", "--wrt", wrt];
            let ran =
                dmci(&[&args[..], &["--to", language, "--out", &format!("{name}.py")]].concat(), "", folder.path());
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{text}");
        }
        let text = run(&folder, language);
        let mut lines = text.lines();
        let mut wrong = String::new();
        for ((program, data, _), ours) in programs.iter().zip(&expected) {
            let edges = if *data == "one.csv" { EDGES } else { PAIRS };
            for (edge, row) in edges.split_whitespace().zip(ours.lines().skip(1)) {
                let line = lines.next().unwrap();
                let mut found = line.split(' ').map(|w| w.parse::<f64>().unwrap());
                let close = row.split(',').map(|w| w.parse::<f64>().unwrap()).all(|y| same(found.next().unwrap(), y));
                // A row that fails has no value anywhere.
                let is_known = found.next() == Some(1.0) || row.split(',').all(|w| w == "nan");
                if !close || !is_known {
                    wrong += &format!("{program} at {edge}: {row}, in Python {line}\n");
                }
            }
        }
        assert_eq!(wrong, "", "{language}");
    }
}

#[test]
fn python_in_single_precision_rounds_every_operation() {
    let folder = Workspace::new("emit-python-single");
    folder.write("one.csv", "x\n0.3\n-1.7\n5.1\n");
    folder.write("list.txt", "f0 one.csv\nf1 one.csv\n");
    folder.write("run.py", RUN.replace("[1.0] * count", "[0.9] * count").replace("'jax':", "'x64':"));
    let sums = "(let loop ((i 0) (s x)) (if (= i 50) (/ s 3.7) (loop (+ i 1) (+ (* s a) 0.1))))";
    let functions = "(+ (exp (* a x)) (sigmoid x) (expt (* a x) 2.0) (lgamma (* a x)) (tanh x) (cbrt (* a x)) (* 1.0 (exact (floor (abs x)))))";
    let args = |text: &'static str| ["-e", text, "--data", "one.csv", "--set", "a=0.9", "--f32"];
    for language in ["numpy", "jax", "torch"].into_iter().filter(|language| has(language)) {
        for (name, text) in [("f0.py", sums), ("f1.py", functions)] {
            let emit = ["emit", "--to", language, "--wrt", "a", "--out", name];
            let ran = dmci(&[&emit[..], &args(text)].concat(), "", folder.path());
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{text}");
        }
        let text = run(&folder, language);
        let mut lines = text.lines();
        for (text, near) in [(sums, 0.0), (functions, 1e-6)] {
            let ours = dmci(&[&["eval", "--grad"], &args(text)[..]].concat(), "", folder.path()).stdout;
            for row in ours.lines().skip(1) {
                let line = lines.next().unwrap();
                let found = line.split(' ').map(|w| w.parse::<f64>().unwrap());
                // XLA may fuse a product with a sum.
                let near = if language == "jax" { 1e-5 } else { near };
                for (x, y) in found.zip(row.split(',').map(|w| w.parse::<f64>().unwrap())) {
                    let close = (x - y).abs() <= near * y.abs() && x == f64::from(x as f32);
                    assert!(close, "{language} {text}: {line} is not {row}");
                }
            }
        }
    }
}

#[test]
fn formulas_round_halves_to_the_even_number() {
    if !has("sympy") {
        return;
    }
    let folder = Workspace::new("emit-round");
    let args = ["emit", "-e", "(round (* a x))", "--to", "sympy", "--wrt", "a", "--set", "a=1.0", "--set", "x=2.5"];
    folder.write("f.py", dmci(&args, "", folder.path()).stdout);
    let code = "import f; x = f.INPUTS[0]; a = f.PARAMETERS[0]
print([int(f.EXPRESSION.subs({a: 1, x: v})) for v in (2.5, 3.5, -0.5, -1.5, 2.4, 2.6)])";
    let output = Command::new(python()).args(["-c", code]).current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[2, 4, 0, -2, 2, 3]\n");
}

/// Whether Python has a library, and what exports need besides.
fn has(language: &str) -> bool {
    let import = format!("import numpy, scipy, {language}");
    let found = Command::new(python()).args(["-c", &import]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: there is no Python with SciPy and {language}");
    }
    found
}

/// What the exports in a folder compute.
fn run(folder: &Workspace, language: &str) -> String {
    let output = Command::new(python()).args(["run.py", language]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{language}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Equal up to rounding; the sign of 0 is left to the libraries.
fn same(x: f64, y: f64) -> bool {
    x == y || x.is_nan() && y.is_nan() || y.is_finite() && (x - y).abs() <= 1e-9 * y.abs()
}

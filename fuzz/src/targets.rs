//! What is fuzzed: for each target, how an input is made and what must hold for it.

use crate::agree;
use crate::corpus;
use crate::mutate;
use dmci::ErrorCode;
use dmci::{Compiled, Interpreter, Limits, Mode, Program, Report, RunOptions};
use dmci_compile::lower::Options;
use dmci_generate::language;
use dmci_generate::random::Random;
use dmci_generate::sexp::text_of;
use dmci_syntax::expand::{SyntaxTable, expand_program, intern_keywords, nesting_depth};
use dmci_syntax::{printer, reader};
use dmci_value::{Diagnostic, Heap, Origin};
use dmci_vm::{deep, prims};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A part of the system that is fed with inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Any bytes are data or errors; what is written is read back.
    Reader,
    /// Any data are core forms or errors.
    Expander,
    /// Core forms compile, and what comes out is well formed.
    Compiler,
    /// Mutated programs stay within their limits and agree in both modes.
    Vm,
    /// No bytes, however made, do more than fail to load.
    Ncg,
}

impl Target {
    /// All targets with their names.
    pub const ALL: [(&str, Target); 5] = [
        ("reader", Target::Reader),
        ("expander", Target::Expander),
        ("compiler", Target::Compiler),
        ("vm", Target::Vm),
        ("ncg", Target::Ncg),
    ];

    /// The target with this name.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.iter().find(|(n, _)| *n == name).map(|(_, target)| *target)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        Target::ALL.iter().find(|(_, target)| *target == self).map_or("", |(name, _)| name)
    }

    /// Makes an input.
    pub fn input(self, random: &mut Random, seeds: &[String]) -> Vec<u8> {
        let text = match (self, random.below(10)) {
            (Target::Reader, 0) => return (0..random.below(200)).map(|_| random.word() as u8).collect(),
            (Target::Reader, 1..=3) => mutate::soup(random),
            (Target::Reader, 4) => nested(random),
            (Target::Reader, _) => mutate::text(random, seeds),
            (Target::Expander | Target::Compiler | Target::Vm, 0) => {
                let forms: Vec<_> = (0..1 + random.below(4)).map(|_| mutate::nonsense(random, 4)).collect();
                text_of(&forms)
            }
            (Target::Expander, 1) => nested(random),
            (Target::Expander, 2) => mutate::text(random, seeds),
            (Target::Compiler | Target::Vm, 1..=3) => generated(random),
            (Target::Vm, 6..=7) => mutate::calls(random, names()),
            (Target::Expander | Target::Compiler | Target::Vm, 4..=5) => {
                let text = generated(random);
                mutate::program(random, &[text])
            }
            (Target::Ncg, n) => {
                let text = if n < 5 { generated(random) } else { random.pick(seeds).clone() };
                return mutated_file(random, &text);
            }
            _ => mutate::program(random, seeds),
        };
        text.into_bytes()
    }

    /// Checks one input; the error says what does not hold. It may also panic, hang or crash: the
    /// supervisor notices.
    pub fn check(self, input: &[u8]) -> Result<(), String> {
        match self {
            Target::Reader => check_reader(&String::from_utf8_lossy(input)),
            Target::Expander => check_expander(&String::from_utf8_lossy(input), false),
            Target::Compiler => check_expander(&String::from_utf8_lossy(input), true),
            Target::Vm => check_vm(&String::from_utf8_lossy(input)),
            Target::Ncg => check_ncg(input),
        }
    }
}

/// All names that a program can call.
fn names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut names: Vec<String> = prims::table().iter().map(|p| p.name.to_string()).collect();
        for path in corpus::files_under(&corpus::workspace().join("crates/dmci/scheme"), "scm") {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let defined = text.lines().filter_map(|line| line.strip_prefix("(define "));
            let ends = |c: char| c.is_whitespace() || c == ')';
            names.extend(defined.filter_map(|rest| rest.trim_start_matches('(').split(ends).next()).map(String::from));
        }
        names.retain(|name| !name.starts_with('%'));
        names
    });
    &NAMES
}

fn generated(random: &mut Random) -> String {
    let options = language::Options { fault_every: 60, ..language::Options::default() };
    language::program_text(random.word(), &options)
}

/// Text that is nested deeply, or that only looks so.
fn nested(random: &mut Random) -> String {
    let depth = *random.pick(&[10, 100, 1_000, 5_000, 9_999, 10_001, 100_000]);
    let open: &str = random.text(&[
        "(",
        "'(",
        "#(",
        "`(,",
        "(lambda (x) ",
        "(if 1 ",
        "(let ((x ",
        "[",
        "'",
        "#;",
        "#|",
        "(begin ",
        "(quasiquote (",
        "(f . (",
    ]);
    let close: &str = random.text(&[")", "))", "]", "|#", "", " 1)"]);
    format!("{}{}{}", open.repeat(depth), random.text(&["x", "", "1"]), close.repeat(depth))
}

/// Errors have codes, places inside the text, and a picture.
fn check_errors(heap: &Heap, errors: Vec<Diagnostic>) -> Result<(), String> {
    if errors.is_empty() {
        return Err("an error without a diagnostic".into());
    }
    for error in &errors {
        if error.code == ErrorCode::E9901 {
            return Err(format!("internal error: {}", error.message));
        }
        for label in &error.labels {
            let text = heap.sources.get(label.span.source).map_or("", |s| &s.text);
            if text.get(label.span.start as usize..label.span.end as usize).is_none() {
                return Err(format!("{} has the span {:?} outside of the text", error.code, label.span));
            }
        }
    }
    let report = Report::new(errors, heap.sources.clone());
    report.render(true);
    report.to_json();
    Ok(())
}

fn check_reader(text: &str) -> Result<(), String> {
    let mut heap = Heap::new();
    reader::is_incomplete(text);
    let source = heap.sources.add("input", text, Origin::User);
    let program = match reader::read_all(&mut heap, source) {
        Ok(program) => program,
        Err(errors) => return check_errors(&heap, errors),
    };
    // The end-of-file object can be read as `#!eof` but has no such written form; and what is
    // written has one level of parentheses more.
    if text.contains("#!") || program.depth + 1 >= reader::DEPTH_LIMIT {
        return Ok(());
    }
    let written = printer::write(&heap, program.forms);
    let again = heap.sources.add("written", &written, Origin::User);
    let reread = reader::read_all(&mut heap, again).map_err(|e| format!("what was written cannot be read: {e:?}"))?;
    let twice = heap.car(reread.forms).map_or(String::new(), |v| printer::write(&heap, v));
    if twice != written {
        return Err(format!("written as {written:.300}, read back as {twice:.300}"));
    }
    Ok(())
}

fn check_expander(text: &str, compile: bool) -> Result<(), String> {
    let mut heap = Heap::new();
    let mut table = SyntaxTable::new(Arc::new(intern_keywords(&mut heap)));
    for primitive in prims::table() {
        heap.symbols.intern(primitive.name);
    }
    let source = heap.sources.add("input", text, Origin::User);
    let Ok(program) = reader::read_all(&mut heap, source) else { return Ok(()) };
    let expansion = match expand_program(&mut heap, &mut table, program.forms) {
        Ok(expansion) => expansion,
        Err(errors) => return check_errors(&heap, errors),
    };
    let depth = expansion.forms.iter().map(|&form| nesting_depth(&heap, form)).max().unwrap_or(0);
    if !compile {
        let core = deep::with_stack_for(depth, || dmci_compile::core::parse(&mut heap, &expansion.forms).map(drop));
        return core.map_err(|e| format!("the expander's output is not core: {}", e.message));
    }
    let options = Options { primitives: prims::set(), system: false, open: false, given: &[] };
    let graph = match deep::with_stack_for(depth, || dmci_compile::compile(&mut heap, &expansion.forms, options)) {
        Ok(graph) => graph,
        Err(error) => return check_errors(&heap, vec![*error]),
    };
    deep::with_stack_for(graph.node_count(), || {
        dmci_compile::verify::verify(&graph, prims::set()).map_err(|why| format!("the graph is malformed: {why}"))?;
        graph.print();
        match dmci_compile::codegen::generate(&graph, prims::set()) {
            Ok(code) => drop(code.print()),
            Err(error) => return check_errors(&heap, vec![*error]),
        }
        Ok(())
    })
}

/// Small enough that an input takes a fraction of a second.
fn limits() -> Limits {
    Limits { fuel: 200_000, heap: 32 << 20, depth: 20_000, output: 1 << 16, time: Duration::from_secs(2) }
}

fn check_vm(text: &str) -> Result<(), String> {
    // The clock may differ, and so may names that are not meant for programs; both modes must
    // survive them all the same.
    let compare = !["runtime", "real-time", "current-", "jiffy", "%"].iter().any(|word| text.contains(word));
    let direct = agree::observe(text, Mode::Direct, limits(), &Vec::new());
    let dmci = agree::observe(text, Mode::Dmci, limits(), &Vec::new());
    let cramped = agree::observe(text, Mode::Direct, Limits { heap: 1 << 16, ..limits() }, &Vec::new());
    for seen in [&direct, &dmci, &cramped] {
        if let agree::Seen::Error { report, .. } = seen
            && report.contains(ErrorCode::E9901.as_str())
        {
            return Err(format!("internal error: {report}"));
        }
    }
    if compare && direct != dmci && direct != agree::Seen::Limit && dmci != agree::Seen::Limit {
        return Err(format!("the modes differ\n--- direct\n{direct}\n--- dmci\n{dmci}"));
    }
    if compare && direct != cramped && direct != agree::Seen::Limit && cramped != agree::Seen::Limit {
        return Err(format!("it depends on the heap\n--- direct\n{direct}\n--- in a small heap\n{cramped}"));
    }
    Ok(())
}

/// The file of a program with some bytes changed and the checksum made right again.
fn mutated_file(random: &mut Random, text: &str) -> Vec<u8> {
    let Ok(compiled) = Interpreter::shared().compile(&Program::new(text)) else { return text.as_bytes().to_vec() };
    let mut bytes = compiled.to_bytes();
    for _ in 0..1 + random.below(6) {
        // The source text is at the start; what matters is behind it.
        let from = if random.one_in(8) { 0 } else { (20 + text.len()).min(bytes.len()) };
        let at = from + random.below(bytes.len() - from);
        if at >= bytes.len() {
            continue;
        }
        match random.below(7) {
            0 => bytes[at] = random.word() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = *random.pick(&[0, 1, 2, 127, 128, 255]),
            3 => bytes[at] = bytes[at].wrapping_add(1),
            4 => bytes[at] = bytes[at].wrapping_sub(1),
            5 => {
                bytes.remove(at);
            }
            _ => bytes.insert(at, random.word() as u8),
        }
    }
    if random.one_in(20) {
        bytes.truncate(random.below(bytes.len()));
    }
    if !random.one_in(20) {
        seal(&mut bytes);
    }
    bytes
}

/// Makes the checksum right: what is behind it must be safe without its help.
fn seal(bytes: &mut [u8]) {
    if bytes.len() >= 20 {
        let sum =
            bytes[20..].iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3));
        bytes[12..20].copy_from_slice(&sum.to_le_bytes());
    }
}

fn check_ncg(bytes: &[u8]) -> Result<(), String> {
    let compiled = match Compiled::from_bytes(bytes) {
        Ok(compiled) => compiled,
        Err(report) => {
            report.render(false);
            return Ok(());
        }
    };
    let bytes = compiled.to_bytes();
    match Compiled::from_bytes(&bytes) {
        Ok(again) if again.to_bytes() == bytes => {}
        _ => return Err("a file that was loaded is not written as it was".into()),
    }
    for (_, stage) in dmci::Stage::ALL {
        let _ = compiled.stage(stage);
    }
    let options = RunOptions { mode: Mode::Direct, limits: limits(), ..RunOptions::default() };
    // Whatever it does, it must end with a value or an error.
    let _ = Interpreter::shared().run_compiled(&compiled, &options);
    Ok(())
}

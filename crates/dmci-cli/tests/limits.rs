//! A run is limited in what it prints and records.

#![allow(clippy::unwrap_used)]

mod support;

use support::{Ran, Workspace, command, dmci};

fn run(args: &[&str]) -> Ran {
    let space = Workspace::new(&format!("limits-{}", args.len()));
    dmci(args, "", space.path())
}

#[test]
fn a_value_that_is_cut_is_an_error() {
    let ran = run(&["run", "-e", "(make-string 17000000 #\\a)"]);
    assert!(ran.code == 3 && ran.stderr.contains("E0404"), "{} {}", ran.code, ran.stderr);
    let ran = run(&["run", "-e", "(make-string 1000 #\\a)", "--heap", "64M"]);
    assert!(ran.code == 0 && ran.stdout.len() == 1003, "{} {}", ran.code, ran.stderr);
}

#[test]
fn json_is_written_as_one_object() {
    let program = "(begin (display 1) (list 1 2.5 'a \"b\" (vector 1 #t) (cons 1 2)))";
    let ran = run(&["run", "--json", "-e", program]);
    let value = r#"[1,2.5,{"symbol":"a"},"b",{"vector":[1,true]},{"list":[1],"tail":2}]"#;
    assert_eq!(ran.stdout, format!("{{\"output\":\"1\",\"schema\":\"dmci-run-1\",\"value\":{value}}}\n"));
}

/// Peak resident memory of a run, in bytes, and its exit code.
#[cfg(target_os = "linux")]
fn resident(args: &[&str]) -> (u64, i32) {
    let space = Workspace::new("limits-resident");
    let mut child = command(args, space.path()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) << 10);
        if let Some(status) = child.try_wait().unwrap() {
            return (most, status.code().unwrap_or(-1));
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn tapes_draw_on_the_heap() {
    let program = "(derivative (lambda (x) (let loop ((y x)) (if (< y 0) y (loop (* y x))))) 1.0)";
    let (most, code) = resident(&["run", "--heap", "16M", "-e", program]);
    assert!(code == 3 && most > 0 && most < (16 << 20) * 13 / 10 + 40_000_000, "{code} {most}");
}

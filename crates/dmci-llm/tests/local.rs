//! Programs and folders that answer.
#![cfg(unix)]

use dmci_llm::command::Command;
use dmci_llm::error::Kind;
use dmci_llm::folder::Folder;
use dmci_llm::message::{Message, Provider, Request, Role};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn request() -> Request {
    let messages = vec![Message::new(Role::System, "Rules."), Message::new(Role::User, "x".repeat(200_000))];
    Request { messages, ..Request::default() }
}

fn command(line: &str) -> Command {
    Command::new(line, Duration::from_millis(800), 300_000).expect("a command")
}

#[test]
fn a_command_reads_the_prompt_and_writes_the_answer() {
    let found = command("wc -c").ask(&request(), &|| false).expect("an answer");
    assert_eq!(found.text.trim(), format!("{}", request().as_text().len()));
    // One that does not read, and one that leaves something behind that holds its output.
    assert_eq!(command("echo hello").ask(&request(), &|| false).expect("an answer").text, "hello\n");
    let began = Instant::now();
    assert_eq!(command("sleep 60 & echo left").ask(&request(), &|| false).expect("an answer").text, "left\n");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn commands_that_fail() {
    let cases = [
        ("echo the reason >&2; exit 3", Kind::Local, "the reason"),
        ("no-such-program-of-ours", Kind::Local, "not found"),
        ("true", Kind::Local, "wrote nothing"),
        ("printf '\\377'", Kind::Local, "not UTF-8"),
        ("yes", Kind::TooLong, "more than 300000 bytes"),
    ];
    for (line, kind, words) in cases {
        let error = command(line).ask(&request(), &|| false).expect_err(line);
        assert!(error.kind == kind && error.message.contains(words), "{line}: {error:?}");
    }
    assert!(Command::new("  ", Duration::ZERO, 1).is_err());
}

#[test]
fn a_command_ends_with_all_that_it_started() {
    let mark = std::env::temp_dir().join(format!("dmci-llm-mark-{}", std::process::id()));
    let line = format!("(sleep 2; touch {}) & sleep 60", mark.display());
    let began = Instant::now();
    let error = command(&line).ask(&request(), &|| false).expect_err("too slow");
    assert_eq!(error.kind, Kind::Timeout, "{error}");
    assert!(began.elapsed() < Duration::from_secs(2));
    let stopped = AtomicBool::new(false);
    let slow = Command::new("sleep 60", Duration::from_secs(50), 10).expect("a command");
    std::thread::scope(|scope| {
        let call =
            scope.spawn(|| slow.ask(&Request::default(), &|| stopped.load(Ordering::Relaxed)).expect_err("cancelled"));
        std::thread::sleep(Duration::from_millis(100));
        stopped.store(true, Ordering::Relaxed);
        assert_eq!(call.join().expect("no panic").kind, Kind::Cancelled);
    });
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!mark.exists(), "what the command started went on");
}

#[test]
fn a_folder_takes_prompts_and_gives_answers() {
    let path = std::env::temp_dir().join(format!("dmci-llm-folder-{}", std::process::id()));
    let folder = Folder::new(&path, Duration::from_secs(5), 1000).expect("a folder");
    let (prompt, answer) = folder.files(&request());
    std::thread::scope(|scope| {
        let call = scope.spawn(|| folder.ask(&request(), &|| false));
        while !prompt.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(std::fs::read_to_string(&prompt).expect("whole at once"), request().as_text());
        let part = answer.with_extension("part");
        std::fs::write(&part, "(* a x)").and_then(|()| std::fs::rename(&part, &answer)).expect("an answer");
        assert_eq!(call.join().expect("no panic").expect("an answer").text, "(* a x)");
    });
    // The same question is answered again by what is there.
    assert_eq!(folder.ask(&request(), &|| false).expect("an answer").text, "(* a x)");
    std::fs::write(&answer, "x".repeat(2000)).expect("written");
    assert_eq!(folder.ask(&request(), &|| false).expect_err("too long").kind, Kind::TooLong);
    let short = Folder::new(&path, Duration::from_millis(150), 1000).expect("a folder");
    let other = Request { sample: 1, ..request() };
    let error = short.ask(&other, &|| false).expect_err("nobody answers");
    assert!(error.message.contains(".answer.md"), "{error}");
    assert_eq!(short.ask(&Request { sample: 2, ..request() }, &|| true).expect_err("stopped").kind, Kind::Cancelled);
    let _ = std::fs::remove_dir_all(&path);
}

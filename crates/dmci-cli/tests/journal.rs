//! Journals of `dmci search`: whatever happens to a run, nothing is lost, and what is wrong is said.
#![cfg(feature = "journal")]
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{Ran, Workspace, command, dmci};

/// 60 rows of y = 3 x / (0.5 + x) + z, with a little that no program explains.
fn table(space: &Workspace) {
    let mut text = "x,z,y\n".to_string();
    for i in 0..60 {
        let (x, z) = (0.1 + f64::from(i) * 0.07, f64::from(i * 37 % 11) / 7.0);
        let off = f64::from(i * 53 % 17) / 400.0;
        let _ = writeln!(text, "{x},{z},{}", 3.0 * x / (0.5 + x) + z + off);
    }
    space.write("rows.csv", text);
}

const SEARCH: [&str; 7] = ["search", "--data", "rows.csv", "--target", "y", "--ops", "+ * / exp log"];

fn long() -> bool {
    std::env::var_os("DMCI_LONG").is_some_and(|v| v != "0")
}

/// The result of a search without its times.
fn found(ran: &Ran) -> Json {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let mut found: Json = serde_json::from_str(&ran.stdout).unwrap();
    found.as_object_mut().unwrap().remove("seconds");
    found
}

/// A run that is killed at any moment and resumed comes to the same front, with any number of threads.
#[test]
fn a_killed_run_goes_on_as_if_nothing_had_happened() {
    let (kills, evaluations) = if long() { (50, "20000") } else { (6, "3000") };
    let space = Workspace::new("search-killed");
    table(&space);
    let options = ["--evaluations", evaluations, "--json", "--time-limit", "600", "--seed", "5"];
    let plain =
        |threads: &str| found(&dmci(&[&SEARCH[..], &options, &["--threads", threads]].concat(), "", space.path()));
    let whole = plain("1");
    assert_eq!(whole, plain("2"));
    for threads in ["1", "2"] {
        let run = format!("run-{threads}.dmci");
        let begin = [&SEARCH[..], &options, &["--threads", threads, "--out", &run]].concat();
        let resume = ["search", "--resume", &run, "--json", "--time-limit", "600", "--threads", threads];
        // Moments that differ from run to run of the test: the claim is about all of them.
        let mut state = u64::from(std::process::id()) << 7 | u64::from(threads == "2");
        let mut at_work = 0;
        for _ in 0..kills {
            let begun = space.path().join(&run).exists();
            let mut child = command(if begun { &resume } else { &begin }, space.path()).spawn().unwrap();
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            std::thread::sleep(Duration::from_millis(20 + (state >> 33) % 300));
            at_work += usize::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(at_work > 0, "all kills came too late");
        let begun = space.path().join(&run).exists();
        let resumed = found(&dmci(if begun { &resume } else { &begin }, "", space.path()));
        assert_eq!(resumed, whole, "{threads} threads");
        assert_eq!(found(&dmci(&["search", "show", &run, "--json"], "", space.path())), whole);
        let best = dmci(&["search", "export", &run], "", space.path());
        assert_eq!(Some(best.stdout.trim()), whole["best"]["program"].as_str());
    }
}

/// A run on a disk that is full ends with a word about it, and goes on once there is room.
#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing() {
    let space = Workspace::new("search-full");
    table(&space);
    let options = ["--evaluations", "2500", "--json", "--time-limit", "600", "--threads", "1"];
    let whole = found(&dmci(&[&SEARCH[..], &options].concat(), "", space.path()));
    // Files of 200 blocks of 512 bytes; without the trap the system would end the process itself.
    let words: Vec<String> =
        [&SEARCH[..], &options, &["--out", "run.dmci"]].concat().iter().map(|w| format!("'{w}'")).collect();
    let script = format!("trap '' XFSZ; ulimit -f 200; exec '{}' {}", env!("CARGO_BIN_EXE_dmci"), words.join(" "));
    let ended = Command::new("sh").args(["-c", &script]).current_dir(space.path()).output().unwrap();
    // Errors are JSON where results are.
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write the journal") && said.contains("--resume"), "{said}");
    let resumed = dmci(&["search", "--resume", "run.dmci", "--json", "--threads", "2"], "", space.path());
    assert_eq!(found(&resumed), whole);
}

#[test]
fn two_processes_cannot_write_one_run() {
    let space = Workspace::new("search-two");
    table(&space);
    let options = ["--evaluations", "100000000", "--time-limit", "60", "--threads", "1", "--out", "run.dmci"];
    let mut first = command(&[&SEARCH[..], &options].concat(), space.path());
    let mut first = first.stdout(Stdio::null()).spawn().unwrap();
    for _ in 0..200 {
        if space.path().join("run.dmci").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let second = dmci(&["search", "--resume", "run.dmci"], "", space.path());
    let again = dmci(&[&SEARCH[..], &options].concat(), "", space.path());
    // Who only looks may.
    let shown = dmci(&["search", "show", "run.dmci", "--json"], "", space.path());
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(second.code == 1 && second.stderr.contains("another process"), "{}", second.stderr);
    assert!(again.code == 1 && again.stderr.contains("already"), "{}", again.stderr);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    // With its process the lock of a run is gone.
    let resumed = dmci(&["search", "--resume", "run.dmci", "--time-limit", "0.1", "--json"], "", space.path());
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
}

#[test]
fn what_is_wrong_with_a_journal_is_said() {
    let space = Workspace::new("search-damaged");
    table(&space);
    let options = ["--evaluations", "400", "--time-limit", "600", "--json", "--out", "run.dmci"];
    let whole = found(&dmci(&[&SEARCH[..], &options].concat(), "", space.path()));
    let path = space.path().join("run.dmci");
    let bytes = std::fs::read(&path).unwrap();
    let resume = |name: &str| {
        let ran = dmci(&["search", "--resume", name, "--json"], "", space.path());
        // Errors are JSON where results are.
        if ran.code == 0 { ran } else { Ran { stderr: ran.stdout + &ran.stderr, stdout: String::new(), ..ran } }
    };
    let mut said = 0;
    for k in 0..24 {
        let mut changed = bytes.clone();
        let at = bytes.len() / 24 * k + 7 * k + 3;
        changed[at..at + 5].fill(0xa5);
        space.write("changed.dmci", &changed);
        for file in ["changed.dmci-wal", "changed.dmci-shm"] {
            let _ = std::fs::remove_file(space.path().join(file));
        }
        let ran = resume("changed.dmci");
        if ran.code == 0 {
            assert_eq!(found(&ran), whole, "byte {at} was changed and nobody noticed");
        } else {
            assert!([1, 2].contains(&ran.code) && !ran.stderr.contains("panicked"), "byte {at}: {}", ran.stderr);
            assert!(ran.stderr.contains("changed.dmci"), "byte {at}: {}", ran.stderr);
            said += 1;
        }
    }
    assert!(said > 6, "{said} of 24 damages were noticed");
    space.write("empty.dmci", "");
    space.write("text.dmci", "x,y\n".repeat(3000));
    for name in ["empty.dmci", "text.dmci"] {
        let ran = resume(name);
        assert!(ran.code == 1 && ran.stderr.contains("is not the journal of a run"), "{}", ran.stderr);
    }
    let ran = resume("nowhere.dmci");
    assert!(ran.code == 1 && ran.stderr.contains("there is no run in nowhere.dmci"), "{}", ran.stderr);
    let ran = dmci(&[&SEARCH[..], &["--out", "no/such/folder/run.dmci"]].concat(), "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("no/such/folder/run.dmci"), "{}", ran.stderr);
    // Another table is another search.
    let table = std::fs::read_to_string(space.path().join("rows.csv")).unwrap();
    space.write("rows.csv", table.replacen("0.1,", "0.11,", 1));
    let ran = resume("run.dmci");
    assert!(ran.code != 0 && ran.stderr.contains("the table has changed"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_said_and_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let space = Workspace::new("search-read-only");
    table(&space);
    let folder = space.path().join("kept");
    std::fs::create_dir(&folder).unwrap();
    let options = ["--evaluations", "300", "--time-limit", "600", "--json"];
    let whole = found(&dmci(&[&SEARCH[..], &options, &["--out", "kept/run.dmci"]].concat(), "", space.path()));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let by_root = std::fs::write(folder.join("probe"), "").is_ok();
    if by_root {
        println!("skipped: permissions do not bind this user");
    } else {
        let ran = dmci(&[&SEARCH[..], &["--out", "kept/new.dmci"]].concat(), "", space.path());
        assert!(ran.code == 1 && ran.stderr.contains("cannot write the journal"), "{}", ran.stderr);
        assert_eq!(found(&dmci(&["search", "show", "kept/run.dmci", "--json"], "", space.path())), whole);
        let ran = dmci(&["search", "--resume", "kept/run.dmci"], "", space.path());
        assert!(ran.code == 1 && ran.stderr.contains("kept/run.dmci"), "{}", ran.stderr);
    }
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

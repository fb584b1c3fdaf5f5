//! `dmci repro`: result files, their check, and what is wrong with damaged ones.

mod support;

use support::{Workspace, dmci};

#[test]
fn results_are_written_checked_and_drawn() {
    let space = Workspace::new("repro");
    let ran = dmci(&["repro", "d", "--quick", "--out", "results", "--plot", "figures"], "", space.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("holds    both arms follow the same search, bit for bit"), "{}", ran.stdout);
    let checked = dmci(&["repro", "check", "--out", "results"], "", space.path());
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    assert!(checked.stdout.contains("1 files, ") && checked.stdout.contains(" 0 wrong"), "{}", checked.stdout);
    let figure = std::fs::read_to_string(space.path().join("figures/d-cumulative.svg")).expect("a figure");
    assert!(figure.starts_with("<svg"));

    let file = space.path().join("results/d/results/d-f64-quick.json");
    let text = std::fs::read_to_string(&file).expect("a result file");
    std::fs::write(&file, text.replacen("\"yes\"", "\"maybe\"", 1)).expect("it is written");
    let checked = dmci(&["repro", "check", "--out", "results"], "", space.path());
    assert_eq!(checked.code, 1);
    assert!(checked.stdout.contains("maybe, but its measurements give yes"), "{}", checked.stdout);
}

#[test]
fn the_results_of_this_repository_are_right() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let checked = dmci(&["repro", "check"], "", root.as_ref());
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}

#[test]
fn an_unknown_experiment_is_a_usage_error() {
    let space = Workspace::new("repro-unknown");
    let ran = dmci(&["repro", "z"], "", space.path());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there is no experiment z"), "{}", ran.stderr);
}

/// Answers to the questions of an experiment are recorded as they come, and replayed without anybody to ask.
#[cfg(unix)]
#[test]
fn answers_to_experiments_are_recorded_and_replayed() {
    let space = Workspace::new("repro-answers");
    let script = "if grep -q 'a power law'; then echo 'Here: ```scheme (params (a free 3.0) (b free 0.75)) \
                  (* a (expt x b)) ```'; else echo 'I do not know.'; fi";
    std::fs::write(space.path().join("ask.sh"), script.replace("a power law", "A power law")).expect("it is written");
    let base = ["repro", "w", "--quick", "--out", "results"];
    let recorded = dmci(&[&base[..], &["--model", "command:sh ask.sh"]].concat(), "", space.path());
    assert_eq!(recorded.code, 0, "{}{}", recorded.stdout, recorded.stderr);
    assert!(recorded.stderr.contains("answered: B/M07\n"), "{}", recorded.stderr);
    let file = space.path().join("results/w/answers.jsonl");
    let text = std::fs::read_to_string(&file).expect("a record");
    let line: serde_json::Value = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .find(|l: &serde_json::Value| l["id"] == "B/M07")
        .expect("it is there");
    assert!(line["text"].as_str().expect("text").starts_with("Here: ```scheme") && line["event"] == "answer");
    assert!(line["prompt_version"] == "dmci-written-1" && line["time"].as_u64() > Some(1_700_000_000), "{line}");
    let replayed = dmci(&base, "", space.path());
    let rows = |text: &str| text.lines().filter(|l| l.starts_with('|')).map(String::from).collect::<Vec<_>>();
    assert_eq!(rows(&replayed.stdout), rows(&recorded.stdout));
    assert!(replayed.stdout.contains("tokens: not known"), "{}", replayed.stdout);
    assert_eq!(dmci(&["repro", "check", "--out", "results"], "", space.path()).code, 0);
    std::fs::write(&file, text + "{}\n").expect("it is written");
    let damaged = dmci(&base, "", space.path());
    assert!(damaged.code == 2 && damaged.stderr.contains("is not a recorded answer"), "{damaged:?}");
}

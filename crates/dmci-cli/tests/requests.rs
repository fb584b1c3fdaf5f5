//! Requests in files and as options. The cases are shared with the Python package, which must give the same fits and
//! the same refusals; DMCI_BLESS=1 writes what the command gives into their file.

#![allow(clippy::unwrap_used)]

mod support;

use dmci::{Program, Spelling};
use dmci_fit::{FitRequest, Inputs, Table};
use serde_json::{Map, Value as Json, json};
use std::sync::Mutex;
use support::{Workspace, dmci};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../dmci-fit/tests/requests.json");

/// Both lists of cases are in one file, which is written whole.
static FILE: Mutex<()> = Mutex::new(());

fn cases() -> Json {
    serde_json::from_str(&std::fs::read_to_string(CASES).unwrap()).unwrap()
}

fn space(name: &str, cases: &Json) -> Workspace {
    let space = Workspace::new(name);
    for (name, text) in cases["files"].as_object().unwrap() {
        space.write(name, text.as_str().unwrap());
    }
    space
}

/// What two fits must agree in, bit for bit.
fn summary(fit: &Json) -> Json {
    let codes: Vec<&Json> = fit["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
    json!({
        "parameters": fit["parameters"],
        "loss": fit["loss"],
        "held_out": fit["held_out"],
        "optimizer": fit["optimizer"]["name"],
        "stopped": fit["stopped"],
        "evaluations": fit["evaluations"],
        "warnings": codes,
    })
}

/// The options that say the same as a request.
fn options(request: &Map<String, Json>) -> Vec<String> {
    let mut args = Vec::new();
    for (name, value) in request {
        let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        match (name.as_str(), value) {
            ("program", _) => args.push(text(value)),
            ("text", _) => args.extend(["-e".to_string(), text(value)]),
            ("set", Json::Object(set)) => {
                args.extend(set.iter().flat_map(|(name, value)| ["--set".to_string(), format!("{name}={value}")]));
            }
            (_, Json::Bool(true)) => args.push(format!("--{}", name.replace('_', "-"))),
            (_, Json::Array(list)) => {
                let list: Vec<String> = list.iter().map(text).collect();
                args.extend([format!("--{}", name.replace('_', "-")), list.join(",")]);
            }
            _ => args.push(format!("--{}={}", name.replace('_', "-"), text(value))),
        }
    }
    args
}

fn run(space: &Workspace, args: &[&str]) -> (u8, Json) {
    let ran = dmci(&[&["fit"], args, &["--json"]].concat(), "", space.path());
    let json = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{args:?}\n{}{}", ran.stdout, ran.stderr));
    (u8::try_from(ran.code).unwrap(), json)
}

fn strs(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

#[test]
fn requests_give_the_fits_that_python_gives() {
    let _file = FILE.lock();
    let mut cases = cases();
    let space = space("requests-good", &cases);
    let bless = std::env::var_os("DMCI_BLESS").is_some();
    let list = cases["good"].as_array_mut().unwrap();
    assert!(list.len() >= 20);
    for case in list {
        space.write("r.json", case["request"].to_string());
        let (code, fit) = run(&space, &["--request", "r.json"]);
        assert_eq!(code, 0, "{}\n{fit}", case["request"]);
        if bless {
            case["fit"] = summary(&fit);
        }
        assert_eq!(summary(&fit), case["fit"], "{}", case["request"]);
        // The options that say the same become the same request.
        let settings = case["request"].as_object().unwrap();
        let given = options(settings);
        let ran = dmci(&[&["fit"], &strs(&given)[..], &["--print-request"]].concat(), "", space.path());
        let mut request = FitRequest::from_map(settings.clone()).unwrap();
        // The command cannot know before it has read the table whether a comma belongs to a name.
        request.problem.target = vec![request.problem.target.join(",")].into_iter().filter(|t| !t.is_empty()).collect();
        let printed = FitRequest::from_json(&ran.stdout).unwrap_or_else(|e| panic!("{given:?}: {e}{}", ran.stderr));
        assert_eq!(printed, request);
    }
    if bless {
        std::fs::write(CASES, format!("{cases:#}\n")).unwrap();
    }
}

#[test]
fn requests_are_refused_as_in_python() {
    let _file = FILE.lock();
    let mut cases = cases();
    let space = space("requests-bad", &cases);
    let bless = std::env::var_os("DMCI_BLESS").is_some();
    let files = cases["files"].clone();
    let list = cases["bad"].as_array_mut().unwrap();
    assert!(list.len() >= 20);
    for case in list {
        space.write("r.json", case["request"].to_string());
        let (code, found) = run(&space, &["--request", "r.json"]);
        assert!(code == 1 || code == 2, "{}\n{found}", case["request"]);
        let error = &found["error"][0];
        if bless {
            case["code"] = error["code"].clone();
            case["message"] = refused(&case["request"], &files).diagnostics[0].message.clone().into();
        }
        let message = Spelling::Flag.spell(case["message"].as_str().unwrap()).into_owned();
        assert_eq!(
            (&error["code"], error["message"].as_str()),
            (&case["code"], Some(&*message)),
            "{}",
            case["request"]
        );
        if case["options"] == true {
            let given = options(case["request"].as_object().unwrap());
            let (_, found) = run(&space, &strs(&given));
            assert_eq!(found["error"][0]["message"].as_str(), Some(&*message), "{given:?}");
        }
    }
    if bless {
        std::fs::write(CASES, format!("{cases:#}\n")).unwrap();
    }
}

/// Why the library refuses a request, before anybody has spelled it.
fn refused(request: &Json, files: &Json) -> dmci::Report {
    let problem = || {
        let request = FitRequest::from_map(request.as_object().unwrap().clone())?;
        request.check()?;
        let (program, data) = (request.problem.program.as_deref().unwrap(), request.problem.data_file()?);
        let table = Table::from_csv(data, files[data].as_str().unwrap().as_bytes())?;
        let program = Program::named(program, files[program].as_str().unwrap());
        let run = request.run.options(None)?;
        request.problem(Inputs { program, table: &table, start_from: None, run })
    };
    problem().expect_err("a bad request")
}

#[test]
fn options_count_more_than_a_request_and_its_paths_start_at_its_folder() {
    let cases = cases();
    let space = space("requests-options", &cases);
    std::fs::create_dir(space.path().join("runs")).unwrap();
    for name in ["rows.csv", "decay.scm"] {
        space.write(&format!("runs/{name}"), cases["files"][name].as_str().unwrap());
    }
    let toml = "program = 'decay.scm'\ndata = 'rows.csv'\ntarget = ['y']\nrestarts = 3\nout = 'fit.json'\n[set]\nb = 0.8\nc = 0.5\n";
    space.write("runs/fit.toml", toml);
    let (code, fit) = run(&space, &["--request", "runs/fit.toml", "--restarts", "2", "--set", "b=0.7"]);
    assert_eq!((code, &fit["optimizer"]["restarts"]), (0, &json!(2)));
    assert_eq!((&fit["parameters"]["b"]["start"], &fit["parameters"]["c"]["start"]), (&json!(0.7), &json!(0.5)));
    assert_eq!(fit["data"]["file"], "runs/rows.csv");
    assert!(space.path().join("runs/fit.json").is_file());
    // A text takes the place of the file's program.
    let text = "(params (a free 1.0)) (* a t)";
    let (_, fit) = run(&space, &["--request", "runs/fit.toml", "-e", text, "--set", "a=2.5"]);
    assert_eq!(fit["error"][0]["code"], "E0701", "b and c are still set: {fit}");
    let ran = dmci(&["fit", "--request", "runs/fit.toml", "--print-request=toml"], "", space.path());
    let printed = FitRequest::from_toml(&ran.stdout).unwrap();
    assert_eq!(printed, FitRequest::from_toml(toml).unwrap().in_folder("runs"));
    let ran = dmci(&["fit", "--print-schema"], "", space.path());
    assert_eq!(serde_json::from_str::<Json>(&ran.stdout).unwrap(), FitRequest::schema());
    let ran = dmci(&["fit", "--request", "nothing.toml"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("cannot read nothing.toml"), "{}", ran.stderr);
}

/// A message of a library names settings between marks, and the command has an option for each of them.
#[test]
fn every_setting_in_a_message_is_an_option() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let space = Workspace::new("requests-messages");
    let commands = ["fit", "run", "grad", "eval", "emit", "tape", "search", "compare", "predict", "forecast"];
    let help: String = commands.map(|command| dmci(&[command, "--help"], "", space.path()).stdout).concat();
    let mut folders: Vec<_> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let is_code = path.extension().is_some_and(|end| end == "rs") && !path.ends_with("spelling.rs");
            let lines = text.lines().filter(|line| is_code && !line.trim_start().starts_with("//"));
            for setting in lines.flat_map(|line| line.split('‹').skip(1)) {
                let name = setting.split(['›', ' ']).next().unwrap();
                if name.starts_with('{') {
                    continue;
                }
                let option = Spelling::Flag.spell(&format!("‹{name}›")).into_owned();
                // The program and its text are given in other ways.
                assert!(help.contains(&option) || name == "program" || name == "text", "{}: {name}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "{seen}");
}

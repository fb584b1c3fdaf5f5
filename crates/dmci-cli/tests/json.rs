//! What commands print with `--json` is what `docs/json.md` says: each field is documented, and each documented field
//! is seen, unless its text says `only`.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use support::{Workspace, dmci, split};

const PAGE: &str = include_str!("../../../docs/json.md");

/// A documented field: its path, and whether each run of some command must show it.
#[derive(Clone, Debug)]
struct Field {
    path: Vec<String>,
    required: bool,
}

/// `a.b[]` as `a`, `b`, `[]`.
fn segments(path: &str) -> Vec<String> {
    let mut list = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let name = part.trim_end_matches("[]");
        list.push(name.to_string());
        list.extend((0..(part.len() - name.len()) / 2).map(|_| "[]".to_string()));
    }
    if path.ends_with("...") {
        list.push("...".into());
    }
    list
}

/// The sections of the page: name, and fields with what is said about them.
fn sections() -> BTreeMap<String, Vec<(Vec<String>, String)>> {
    let mut sections: BTreeMap<String, Vec<(Vec<String>, String)>> = BTreeMap::new();
    let mut name = String::new();
    for line in PAGE.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            name = title.trim_matches('`').to_string();
        } else if let Some((cell, text)) = line.strip_prefix("| `").and_then(|row| row.split_once(" | ")) {
            let paths = format!("`{cell}");
            let paths = paths.split('`').skip(1).step_by(2).map(segments);
            sections.entry(name.clone()).or_default().extend(paths.map(|path| (path, text.to_string())));
        }
    }
    sections
}

/// The fields of a section, with those that they refer to.
fn fields(name: &str, all: &BTreeMap<String, Vec<(Vec<String>, String)>>) -> Vec<Field> {
    let mut found = Vec::new();
    for (path, text) in &all[name] {
        let required = !text.contains("only ");
        match text.split_once("(fields: ") {
            Some((_, other)) => {
                let other = other.split(')').next().unwrap();
                found.push(Field { path: path.clone(), required: false });
                // Not every list of diagnostics or programs has an entry of each kind.
                let inner = fields(other, all).into_iter();
                found.extend(inner.map(|f| Field { path: [path.clone(), f.path].concat(), required: false }));
            }
            None => found.push(Field { path: path.clone(), required }),
        }
    }
    found
}

/// The paths of an object.
fn paths(json: &Json, at: &[String], found: &mut BTreeSet<Vec<String>>) {
    let with = |segment: &str| [at, &[segment.to_string()]].concat();
    match json {
        // What stands for a number that is not finite.
        Json::Object(map) if map.len() == 1 && map.contains_key("real") => {
            found.insert(at.to_vec());
        }
        Json::Object(map) if map.is_empty() => {
            found.insert(at.to_vec());
        }
        Json::Object(map) => map.iter().for_each(|(name, value)| paths(value, &with(name), found)),
        Json::Array(list) if list.is_empty() => {
            found.insert(with("[]"));
        }
        Json::Array(list) => list.iter().for_each(|value| paths(value, &with("[]"), found)),
        _ => {
            found.insert(at.to_vec());
        }
    }
}

fn matches(documented: &[String], seen: &[String]) -> bool {
    match (documented, seen) {
        ([], []) => true,
        ([last], [_, ..]) if last == "..." => true,
        ([d, documented @ ..], [s, seen @ ..]) => {
            (d == s || d.starts_with('{') && s != "[]") && matches(documented, seen)
        }
        _ => false,
    }
}

const ROWS: &str = "t,y,s,g\n1,2.1,0.2,a\n2,3.9,0.2,a\n3,6.2,0.2,b\n4,7.8,0.2,b\n5,10.1,0.2,a\n6,12.2,0.2,b\n7,13.9,0.2,a\n\
                    8,16.2,0.2,b\n9,17.8,0.2,a\n10,20.3,0.2,b\n";

/// Commands, in order: later ones read what earlier ones wrote.
const COMMANDS: &[&str] = &[
    "run -e '(+ 1 2)'",
    "run -e '(car 5)'",
    "grad -e '(* x x)' --set x=2.0 --hessian",
    "eval line.scm --data rows.csv --grad --output",
    "eval -e '(/ 1 (- n 1))' --data ints.csv",
    "fit line.scm --data rows.csv --target y --out fit.json",
    "fit line.scm --data rows.csv --target y --sigma s --bootstrap 20 --diagnose --holdout 0.3",
    "fit -e '(params (k free 1.0 (per g))) (* k t)' --data rows.csv --target y",
    "fit -e '(params (a free 1.0) (b free 1.0)) (* a b t)' --data rows.csv --target y",
    "fit --formula 'log(y) ~ a + b*t' --data rows.csv",
    "fit own.scm --data rows.csv --objective --target y --out own.json",
    "eval --fit own.json --data rows.csv",
    "predict fit.json --data rows.csv",
    "compare line.scm --formula 'a*t' --data rows.csv --target y --cv 3",
    "forecast --formula 'y ~ a + b*t' --data rows.csv --time t --origins 4:8:1 --horizons 1,2",
    "search --data rows.csv --inputs t --target y --evaluations 200 --time-limit 100 --controls",
    "same line.scm other.scm --data rows.csv",
    "tape -e '(if (< x 1.) (* x x) 2)' --set x=0.5",
    "tape line.scm --data rows.csv",
    "check line.scm --data rows.csv",
    "check -e '(+ x'",
    "info line.scm",
    "info line.scm --stage core",
    "explain E0301",
    "explain --list",
    "data",
];

#[test]
fn the_page_says_what_commands_print() {
    let space = Workspace::new("json");
    space.write("rows.csv", ROWS);
    space.write("ints.csv", "n\n1\n2\n");
    space.write("line.scm", "(params (a free 1.0) (b free 1.0)) (+ b (* a t))");
    space.write("other.scm", "(params (c free 1.0) (d free 1.0)) (+ (* t c) d)");
    space.write(
        "own.scm",
        "(params (a free 1.0)) (define f (map (lambda (x) (* a x)) (tensor->list t)))
         (result (loss (apply + (map (lambda (p q) (square (- p q))) f (tensor->list y)))) (yhat f))",
    );
    let all = sections();
    let mut seen: BTreeMap<String, BTreeSet<Vec<String>>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut note = |line: &str, text: &str| {
        let json: Json = serde_json::from_str(text).unwrap_or_else(|e| panic!("{line}: {e}: {text}"));
        let Some(schema) = json["schema"].as_str().filter(|schema| all.contains_key(*schema)) else {
            wrong.push(format!("{line}: the page has no section for {}", json["schema"]));
            return;
        };
        let mut found = BTreeSet::new();
        paths(&json, &[], &mut found);
        let known = fields(schema, &all);
        for path in found.iter().filter(|path| !known.iter().any(|f| matches(&f.path, path))) {
            wrong.push(format!("{line}: {schema} says nothing about {}", path.join(".")));
        }
        seen.entry(schema.to_string()).or_default().extend(found);
    };
    for line in COMMANDS {
        let words = split(&format!("{line} --json"));
        let ran = dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path());
        note(line, ran.stdout.lines().next().unwrap_or_default());
    }
    let lines = "{\"id\": 1, \"program\": \"(params (a free 1.0)) (* a t)\"}\n{\"id\": 2, \"program\": \"(\"}\n";
    let ran = dmci(&["score", "--data", "rows.csv", "--inputs", "t", "--target", "y"], lines, space.path());
    ran.stdout.lines().for_each(|line| note("score", line));
    for (schema, found) in &seen {
        for field in fields(schema, &all).iter().filter(|f| f.required) {
            if !found.iter().any(|path| matches(&field.path, path)) {
                wrong.push(format!("{schema}: no command showed {}", field.path.join(".")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! A search that asks: a command, an endpoint, recorded answers. No key gets out, and whoever is never reached is named.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Ran, Workspace, command, dmci};

/// 64 rows of the paper's F3: 2 exp(-x/2) + sin(3 x), with noise that sums of sines stand for.
fn table(space: &Workspace) {
    let rows: String = (0..64)
        .map(|i| (5.0 * f64::from(i) / 63.0, (f64::from(i * i) * 1.7).sin() * 0.01))
        .map(|(x, noise)| format!("{x},{}\n", 2.0 * (-0.5 * x).exp() + (3.0 * x).sin() + noise))
        .collect();
    std::fs::write(space.path().join("rows.csv"), format!("x,y\n{rows}")).unwrap();
}

const LAW: &str =
    "(params (a free 1.0) (b free 1.0) (c free 1.0) (w free 1.0))\n(+ (* a (exp (- (* b x)))) (* c (sin (* w x))))";

/// A script that answers the first question with a mistake, and the repair with the law.
fn script(space: &Workspace) {
    let first = "(params (a free 1.0))\n(* a (exp (- (* b x))))";
    let text = format!(
        "cat > prompt.$$; if grep -q 'were rejected' prompt.$$; then printf '%s' '```scheme\n{LAW}\n```'; \
         else printf '%s' 'Try this:\n```scheme\n{first}\n```\n'; fi; rm prompt.$$"
    );
    std::fs::write(space.path().join("ask.sh"), text).unwrap();
}

const BASE: [&str; 9] = ["search", "--data", "rows.csv", "--target", "y", "--sealed", "none", "--seed", "1"];

fn found(ran: &Ran) -> Json {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let mut found: Json = serde_json::from_str(&ran.stdout).unwrap();
    found.as_object_mut().unwrap().remove("seconds");
    found
}

#[test]
fn the_papers_loop_repairs_and_finds_the_law_and_is_replayed() {
    let space = Workspace::new("model-discover");
    table(&space);
    script(&space);
    let run = |who: &str, more: &[&str]| {
        let asked = ["--model", who, "--discover", "--json", "--time-limit", "120"];
        found(&dmci(&[&BASE[..], &asked, more].concat(), "", space.path()))
    };
    let first = run("command:sh ask.sh", &["--calls", "calls.jsonl"]);
    let best = first["best"]["program"].as_str().unwrap();
    assert!(best.contains("sin") && best.contains("exp"), "{best}");
    assert!(first["funnel"]["model"]["rejected"]["names"].as_u64().unwrap() >= 1, "{}", first["funnel"]);
    // The same answers give the same run, bit for bit.
    let again = run("replay:calls.jsonl", &[]);
    assert_eq!(first, again);
}

#[test]
fn a_model_beside_other_proposers_changes_nothing_by_being_slow() {
    let space = Workspace::new("model-lag");
    table(&space);
    let run = |script: &str, threads: &str| {
        std::fs::write(space.path().join("ask.sh"), script).unwrap();
        let more = [
            "--model",
            "command:sh ask.sh",
            "--json",
            "--evaluations",
            "4000",
            "--threads",
            threads,
            "--time-limit",
            "300",
        ];
        found(&dmci(&[&BASE[..], &more].concat(), "", space.path()))
    };
    let answer = format!("cat > /dev/null; printf '%s' '```scheme\n{LAW}\n```'");
    let fast = run(&answer, "2");
    let slow = run(&format!("sleep 0.3; {answer}"), "1");
    assert_eq!(fast, slow);
    assert!(fast["funnel"]["model"]["proposed"].as_u64().unwrap() > 0, "{}", fast["funnel"]);
}

/// An endpoint that answers with the law.
fn endpoint() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut bytes, mut piece) = (Vec::new(), [0; 65536]);
            while let Ok(n @ 1..) = stream.read(&mut piece) {
                bytes.extend_from_slice(&piece[..n]);
                let text = String::from_utf8_lossy(&bytes);
                if text.split_once("\r\n\r\n").is_some_and(|(_, body)| serde_json::from_str::<Json>(body).is_ok()) {
                    break;
                }
            }
            counted.fetch_add(1, Ordering::SeqCst);
            // It repeats the key, as some do.
            let said = String::from_utf8_lossy(&bytes)
                .lines()
                .find(|l| l.to_lowercase().starts_with("authorization"))
                .unwrap_or("")
                .to_string();
            let body = json!({"model": "tiny", "choices": [{"message": {"content": format!("{said}\n```scheme\n{LAW}\n```")}}],
                "usage": {"prompt_tokens": 700, "completion_tokens": 60}}).to_string();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    (url, calls)
}

const KEY: &str = "sk-do-not-show-0123456789";

#[test]
fn an_endpoint_is_asked_within_the_budget_and_its_key_is_shown_nowhere() {
    let space = Workspace::new("model-endpoint");
    table(&space);
    let (url, calls) = endpoint();
    let ask = |more: &[&str]| {
        let asked = [
            "--model",
            "tiny",
            "--endpoint",
            &url,
            "--key-env",
            "TEST_KEY",
            "--discover",
            "--calls",
            "calls.jsonl",
            "--report",
            "page.html",
        ];
        let mut command = command(&[&BASE[..], &asked, more].concat(), space.path());
        let output = command.env("TEST_KEY", KEY).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { stdout: text(&output.stdout), stderr: text(&output.stderr), code: output.status.code().unwrap_or(-1) }
    };
    let journal: &[&str] = if cfg!(feature = "journal") { &["--out", "run.db"] } else { &[] };
    let good = ask(&[&["--money", "1.00", "--price", "0.25,1.0"], journal].concat());
    assert_eq!(good.code, 0, "{}{}", good.stdout, good.stderr);
    assert!(good.stderr.contains("questions") && good.stderr.contains("cost 0.00"), "{}", good.stderr);
    assert!(calls.load(Ordering::SeqCst) >= 1);
    let refused = ask(&["--price", "0.25,1.0"]);
    assert!(refused.code == 2 && refused.stderr.contains("set money to a cap"), "{refused:?}");
    let unknown = ask(&["--money", "1.00"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("price of the model is not known"), "{unknown:?}");
    let poor = ask(&["--money", "0.000001", "--price", "0.25,1.0"]);
    assert!(poor.stderr.contains("allows 0 rounds"), "{poor:?}");
    let all: String = [&good, &refused, &unknown, &poor].iter().map(|r| format!("{}{}", r.stdout, r.stderr)).collect();
    let files: String =
        ["calls.jsonl", "page.html"].iter().map(|f| std::fs::read_to_string(space.path().join(f)).unwrap()).collect();
    assert!(!all.contains("0123456789") && !files.contains("0123456789"), "the key is out");
    assert!(files.contains("\"event\":\"reserve\""));
    // Whatever else the run left: the journal with its companions, and anything that nobody thought of.
    let mut looked = 0;
    for file in std::fs::read_dir(space.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(10).any(|w| w == b"0123456789"), "the key is out");
        looked += 1;
    }
    assert!(looked >= 3 + usize::from(cfg!(feature = "journal")));
}

/// What LLM-SR has models write: a body in Python over `params[0]`, `params[1]`, ...
#[test]
fn skeletons_of_llm_sr_are_read_and_fitted() {
    let space = Workspace::new("model-llm-sr");
    table(&space);
    let answer = "import numpy as np\n\nMAX_NPARAMS = 10\nparams = [1.0] * MAX_NPARAMS\n\n\
                  def equation(x: np.ndarray, params: np.ndarray) -> np.ndarray:\n    \
                  \"\"\"A decay and an oscillation.\n\n    Args:\n        x: time\n    \"\"\"\n    \
                  decay = params[0] * np.exp(-params[1] * x)\n    wave = params[2] * np.sin(params[3] * x)\n    \
                  return decay + wave\n";
    std::fs::write(space.path().join("answer.md"), format!("```python\n{answer}```\n")).unwrap();
    let asked = ["--model", "command:cat > /dev/null; cat answer.md", "--discover", "--json", "--time-limit", "120"];
    let found = found(&dmci(&[&BASE[..], &asked].concat(), "", space.path()));
    assert_eq!(found["funnel"]["model"]["rejected"], json!({}), "{}", found["funnel"]);
    let best = &found["best"];
    assert!(best["program"].as_str().unwrap().contains("sin") && best["fit"].as_f64().unwrap() < 1e-3, "{best}");
}

#[test]
fn a_model_that_is_never_reached_fails_the_run() {
    let space = Workspace::new("model-unreached");
    table(&space);
    let cases: [(&[&str], &str); 5] = [
        (&["--model", "command:exit 3", "--discover"], "never answered"),
        (&["--model", "tiny"], "where the model tiny is"),
        (
            &["--model", "tiny", "--endpoint", "http://127.0.0.1:9/v1", "--key-env", "NO_SUCH_KEY", "--money", "none"],
            "NO_SUCH_KEY",
        ),
        (&["--model", "replay:none.jsonl"], "cannot read none.jsonl"),
        (&["--proposer", "model"], "--model"),
    ];
    for (more, words) in cases {
        let ran = dmci(&[&BASE[..], more].concat(), "", space.path());
        assert!(ran.code != 0 && ran.stderr.contains(words), "{more:?}: {ran:?}");
    }
}

#[test]
fn prompts_can_be_read() {
    let space = Workspace::new("model-prompt");
    table(&space);
    let show = |args: &[&str]| dmci(&[&["prompt"], args].concat(), "", space.path()).stdout;
    assert!(show(&[]).starts_with("# The language, on one page"));
    let rows = ["--data", "rows.csv", "--target", "y"];
    let whole = show(&[&rows[..], &["--about", "A cell."]].concat());
    assert!(whole.contains("A cell.") && whole.contains("x, from 0.000000 to 5.000000"), "{whole}");
    assert!(show(&[&rows[..], &["--part", "grammar"]].concat()).starts_with("root ::= form5\n"));
    let schema: Json = serde_json::from_str(&show(&["--part", "schema"])).unwrap();
    assert_eq!(schema["required"][0], "programs");
    assert_eq!(show(&["--part", "version"]), "dmci-prompt-1\n");
}

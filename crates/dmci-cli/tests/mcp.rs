//! The server for agents, over its own standard input and output. `scripts/mcp-client.py` does the same with the official
//! client.

use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
    early: HashMap<u64, Json>,
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dmci-mcp-test-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("data")).expect("a folder");
    let rows: String =
        (0..40).map(|i| f64::from(i) / 8.0).map(|x| format!("{x},{}\n", 2.5 * (-0.8 * x).exp())).collect();
    std::fs::write(folder.join("data/decay.csv"), format!("x,y\n{rows}")).expect("a table");
    std::fs::write(folder.join("outside.csv"), "x,y\n1,2\n").expect("a table");
    folder
}

impl Client {
    fn start(folder: &std::path::Path) -> Client {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dmci"))
            .args(["mcp", "--allow"])
            .arg(folder.join("data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Client { child, input, output: BufReader::new(output), next: 0, early: HashMap::new() }
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("it reads");
    }

    fn send(&mut self, method: &str, params: &Json) -> u64 {
        self.next += 1;
        let id = self.next;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    fn line(&mut self) -> Json {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("JSON")
    }

    fn wait(&mut self, id: u64) -> Json {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let answer = self.line();
            let of = answer["id"].as_u64().expect("the id of a request");
            self.early.insert(of, answer);
        }
    }

    fn ask(&mut self, method: &str, params: &Json) -> Json {
        let id = self.send(method, params);
        self.wait(id)
    }

    fn call(&mut self, tool: &str, arguments: &Json) -> Json {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
    }

    fn good(&mut self, tool: &str, arguments: &Json) -> Json {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result:#}");
        result["structuredContent"].clone()
    }

    fn bad(&mut self, tool: &str, arguments: &Json) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result:#}");
        result["structuredContent"]["message"].as_str().expect("a message").to_string()
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

#[test]
fn an_agent_works_through_a_problem() {
    let folder = folder();
    let mut client = Client::start(&folder);
    let hello = client.ask(
        "initialize",
        &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
    );
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    client.write(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    let tools = client.ask("tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(11));
    let card = client.ask("resources/read", &json!({"uri": "dmci://card"}));
    assert!(card["result"]["contents"][0]["text"].as_str().is_some_and(|t| t.contains("(params")), "{card}");

    let data = client.good("describe_data", &json!({"data": "decay.csv"}));
    assert_eq!((&data["rows"], &data["columns"][0]["name"]), (&json!(40), &json!("x")));
    let broken = "(params (a free 1.0) (b free 1.0)) (* a (exp (- (* c x))))";
    let check = client.good("check_program", &json!({"program": broken, "data": "decay.csv"}));
    assert!(check["ok"] == false && check["diagnostics"][0]["code"] == "E0301", "{check:#}");
    let right = "(params (a free 1.0) (b free 1.0)) (* a (exp (- (* b x))))";
    assert_eq!(client.good("check_program", &json!({"program": right, "data": "decay.csv"}))["ok"], true);
    let value = client.good("run_program", &json!({"program": "(* 2 x)", "set": {"x": 1.5}}));
    assert_eq!(value["value"], 3.0, "{value}");
    let fit = client.good("fit_program", &json!({"program": right, "data": "decay.csv", "target": "y"}));
    let b = fit["parameters"]["b"]["value"].as_f64().expect("a number");
    assert!((b - 0.8).abs() < 1e-6, "{fit:#}");
    let line = "(params (a free 1.0) (b free 1.0)) (+ a (* b x))";
    let found = client.good("diagnose_fit", &json!({"program": line, "data": "decay.csv", "target": "y"}));
    assert_eq!(found["diagnosis"]["verdict"], "structure-failure", "{found:#}");
    let compared =
        client.good("compare_programs", &json!({"programs": [line, right, "(+"], "data": "decay.csv", "target": "y"}));
    assert_eq!(compared["programs"][0]["number"], 1, "{compared:#}");
    assert!(compared["programs"][2]["error"].is_string(), "{compared:#}");
    let code = client.good("export_program", &json!({"program": right, "data": "decay.csv", "language": "c"}));
    assert!(code["source"].as_str().is_some_and(|s| s.contains("exp(")), "{code}");
    let meaning = client.good("explain_error", &json!({"code": "E0301"}));
    assert!(meaning["explanation"].is_string());

    let search =
        client.good("search_start", &json!({"data": "decay.csv", "target": "y", "seconds": 1.0, "ops": "+ *"}));
    let number = &search["search"];
    let proposed = client.good("search_propose", &json!({"search": number, "programs": ["(sin x)", "(+ c x)"]}));
    assert_eq!(proposed["results"][0]["rejected"]["stage"], "operations", "{proposed:#}");
    let status = client.good("search_status", &json!({"search": number}));
    assert_eq!(status["proposed_by_agent"], 2, "{status:#}");
    client.end();
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn bad_calls_get_clear_errors_and_the_server_stays_up() {
    let folder = std::env::temp_dir().join(format!("dmci-mcp-bad-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("data")).expect("a folder");
    std::fs::write(folder.join("data/t.csv"), "x,y\n1,2\n2,4\n3,7\n").expect("a table");
    std::fs::write(folder.join("outside.csv"), "x,y\n1,2\n").expect("a table");
    let mut client = Client::start(&folder);
    let cases = [
        ("describe_data", json!({}), "needs the argument data"),
        ("describe_data", json!({"data": 1}), "must be of type string"),
        ("describe_data", json!({"data": "../outside.csv"}), "may be read"),
        ("describe_data", json!({"data": "/etc/passwd"}), "may be read"),
        ("describe_data", json!({"dat": "t.csv"}), "has no argument dat"),
        ("run_program", json!({"program": "(car 1)"}), "E0"),
        ("run_program", json!({"program": "(let loop () (loop))", "time": 0.2}), "E0405"),
        ("run_program", json!({"program": "(".repeat(300_000)}), "at most 200000"),
        ("fit_program", json!({"program": "(* a x)", "data": "t.csv", "target": "z"}), "z"),
        (
            "fit_program",
            json!({"program": "x", "data": "t.csv", "target": "y", "settings": {"out": "/tmp/x"}}),
            "not taken",
        ),
        (
            "fit_program",
            json!({"program": "x", "data": "t.csv", "target": "y", "settings": {"lss": 1}}),
            "did you mean loss",
        ),
        ("export_program", json!({"program": "(* 2 x)", "data": "t.csv", "language": "cobol"}), "cobol"),
        ("explain_error", json!({"code": "E9999"}), "no error code"),
        ("search_status", json!({"search": 7}), "no search"),
        ("search_propose", json!({"search": 7, "programs": []}), "programs were given"),
    ];
    for (tool, arguments, words) in cases {
        let message = client.bad(tool, &arguments);
        assert!(message.contains(words), "{tool}: {message}");
    }
    assert_eq!(client.ask("tools/call", &json!({"name": "rm"}))["error"]["code"], -32602);
    assert_eq!(client.ask("nonsense", &json!({}))["error"]["code"], -32601);
    client.write("this is not JSON");
    assert_eq!(client.line()["error"]["code"], -32700);
    client.write("[]");
    assert_eq!(client.line()["error"]["code"], -32600);
    // A call that would go on for a minute is cancelled, and others are answered meanwhile.
    let slow = client.send(
        "tools/call",
        &json!({"name": "run_program", "arguments": {"program": "(let loop () (loop))", "time": 50}}),
    );
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    client.write(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}}).to_string(),
    );
    let began = std::time::Instant::now();
    assert_eq!(client.good("run_program", &json!({"program": "(+ 1 2)"}))["value"], 3);
    client.end();
    assert!(began.elapsed().as_secs() < 20, "the cancelled call held the server");
    std::fs::remove_dir_all(&folder).expect("it is there");
}

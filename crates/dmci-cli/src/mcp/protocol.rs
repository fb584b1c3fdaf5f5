//! JSON-RPC over lines: requests in, answers out, in any order.

use super::Folders;
use super::tools::{self, Server};
use dmci::Cancel;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex};

/// The versions of the protocol that this server speaks, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Bytes of a line at most.
const LONGEST: u64 = 16 << 20;

/// Calls at the same time at most.
const MOST_CALLS: usize = 16;

type Running = Arc<Mutex<HashMap<String, Cancel>>>;

/// Serves until standard input ends.
pub fn serve(folders: Folders) -> u8 {
    let server = Arc::new(Server::new(folders));
    let running: Running = Arc::default();
    let mut input = BufReader::new(std::io::stdin());
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(n) if n as u64 == LONGEST && !line.ends_with(b"\n") => {
                send(&failure(&Json::Null, -32600, &format!("a line has more than {LONGEST} bytes")));
                skip_line(&mut input);
                continue;
            }
            Ok(_) => {}
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Json>(&line) {
            Ok(message) => handle(&message, &server, &running),
            Err(error) => send(&failure(&Json::Null, -32700, &format!("the line is not JSON: {error}"))),
        }
    }
    // Whoever asked is gone.
    running.lock().unwrap_or_else(|e| e.into_inner()).values().for_each(Cancel::cancel);
    server.end();
    0
}

fn skip_line(input: &mut impl BufRead) {
    let mut rest = Vec::new();
    while let Ok(n @ 1..) = input.by_ref().take(1 << 16).read_until(b'\n', &mut rest) {
        if rest[..n].ends_with(b"\n") {
            return;
        }
        rest.clear();
    }
}

fn send(message: &Json) {
    let mut out = std::io::stdout().lock();
    // A client that is gone shows at the next line of input.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

fn success(id: &Json, result: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn failure(id: &Json, code: i64, message: &str) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn handle(message: &Json, server: &Arc<Server>, running: &Running) {
    let (id, params) = (&message["id"], &message["params"]);
    let Some(method) = message["method"].as_str() else {
        // An answer to a question that was never asked.
        if message.get("result").is_none() && message.get("error").is_none() {
            send(&failure(id, -32600, "a request has a method"));
        }
        return;
    };
    if id.is_null() {
        if method == "notifications/cancelled"
            && let Some(cancel) =
                running.lock().unwrap_or_else(|e| e.into_inner()).get(&params["requestId"].to_string())
        {
            cancel.cancel();
        }
        return;
    }
    match method {
        "initialize" => send(&success(id, hello(params))),
        "ping" => send(&success(id, json!({}))),
        "tools/list" => send(&success(id, json!({"tools": tools::list()}))),
        "resources/list" => send(&success(id, json!({"resources": tools::resources()}))),
        "resources/templates/list" => send(&success(id, json!({"resourceTemplates": []}))),
        "prompts/list" => send(&success(id, json!({"prompts": []}))),
        "resources/read" => match tools::resource(params["uri"].as_str().unwrap_or("")) {
            Some(contents) => send(&success(id, json!({"contents": [contents]}))),
            None => send(&failure(id, -32002, "there is no such resource; resources/list shows all")),
        },
        "tools/call" => call(id.clone(), params.clone(), server, running),
        other => send(&failure(id, -32601, &format!("there is no method {other}"))),
    }
}

fn hello(params: &Json) -> Json {
    let asked = params["protocolVersion"].as_str().unwrap_or("");
    let version = VERSIONS.iter().find(|v| **v == asked).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "dmci", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "dmci fits models that are Scheme programs. Read the resource dmci://card, look at the data with \
                         describe_data, check a program before you fit it, and believe diagnose_fit: a fit failure wants \
                         other starts, a structure failure another program, and at the noise nothing is left to find.",
    })
}

/// Runs a tool on a thread of its own.
fn call(id: Json, params: Json, server: &Arc<Server>, running: &Running) {
    let (key, cancel) = (id.to_string(), Cancel::default());
    {
        let mut running = running.lock().unwrap_or_else(|e| e.into_inner());
        if running.len() >= MOST_CALLS {
            return send(&failure(&id, -32000, &format!("{MOST_CALLS} calls are running; wait for one of them")));
        }
        if running.contains_key(&key) {
            return send(&failure(&id, -32600, "a call with this id is running"));
        }
        running.insert(key.clone(), cancel.clone());
    }
    let (server, calls) = (server.clone(), running.clone());
    let (again, name) = (id.clone(), key.clone());
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(move || {
        let tool = params["name"].as_str().unwrap_or("");
        let empty = json!({});
        let arguments = if params["arguments"].is_null() { &empty } else { &params["arguments"] };
        let answer = match server.call(tool, arguments, &cancel) {
            None => failure(&id, -32602, &format!("there is no tool {tool}; tools/list shows all")),
            Some(Ok(value)) => success(&id, content(&value, false)),
            Some(Err(report)) => {
                let value = json!({"ok": false, "message": report.to_string(), "diagnostics": report.to_json()});
                success(&id, content(&value, true))
            }
        };
        calls.lock().unwrap_or_else(|e| e.into_inner()).remove(&key);
        // Who cancels a call does not wait for its answer.
        if !cancel.is_cancelled() {
            send(&answer);
        }
    });
    if let Err(error) = thread {
        running.lock().unwrap_or_else(|e| e.into_inner()).remove(&name);
        send(&failure(&again, -32603, &format!("no thread for the call: {error}")));
    }
}

fn content(value: &Json, is_error: bool) -> Json {
    json!({
        "content": [{"type": "text", "text": format!("{value:#}")}],
        "structuredContent": value,
        "isError": is_error,
    })
}

//! A server of the tests: real sockets, one thread for each connection, and a behaviour for each call.

// Every test file uses a part of it.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a call gets. The number is that of the call, from 0.
pub type Behaviour = dyn Fn(usize, &str, &mut TcpStream) + Send + Sync;

pub struct Server {
    pub url: String,
    calls: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start(behaviour: impl Fn(usize, &str, &mut TcpStream) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let (calls, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let (counted, noted) = (calls.clone(), seen.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (behaviour, counted, noted) = (behaviour.clone(), counted.clone(), noted.clone());
                std::thread::spawn(move || {
                    let mut stream = stream;
                    while let Some(request) = read_request(&mut stream) {
                        let number = counted.fetch_add(1, Ordering::SeqCst);
                        noted.lock().expect("no panic").push(request.clone());
                        behaviour(number, &request, &mut stream);
                    }
                });
            }
        });
        Server { url, calls, seen }
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").clone()
    }
}

/// Headers and body of a request.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut piece).ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&bytes).to_string();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
    }
}

pub fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
    let _ = stream.flush();
}

pub const JSON: &str = "Content-Type: application/json\r\n";

pub fn answer(text: &str, input: u64, output: u64) -> String {
    serde_json::json!({
        "model": "tiny",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": input, "completion_tokens": output},
    })
    .to_string()
}

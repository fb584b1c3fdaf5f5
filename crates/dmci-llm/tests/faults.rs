//! What servers do wrong, over real sockets: each fault has its documented outcome, nothing hangs, no key gets out.

mod server;

use dmci_llm::client::Client;
use dmci_llm::error::{Error, Kind};
use dmci_llm::http::{Endpoint, Model};
use dmci_llm::ledger::{Budget, Ledger, Money, Price};
use dmci_llm::message::{Answer, Message, Request, Role};
use dmci_llm::retry::Retries;
use dmci_llm::secret::Secret;
use server::{JSON, Server, answer, respond};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const KEY: &str = "sk-test-0123456789abcdef";

fn request() -> Request {
    let messages = vec![Message::new(Role::System, "Rules."), Message::new(Role::User, "Propose a program for ü.")];
    Request { messages, model: "tiny".into(), max_tokens: 100, ..Request::default() }
}

fn client(server: &Server) -> Client {
    let mut endpoint = Endpoint::new(&server.url, Secret::new(KEY));
    endpoint.timeout = Duration::from_millis(700);
    endpoint.most_bytes = 100_000;
    let model = Model::new(endpoint).expect("a good endpoint");
    let price = Price { input: 1.0, output: 2.0 };
    let budget = Budget { money: Some((Money::new(1.0).expect("fine"), price)), ..Budget::default() };
    let first = Duration::from_millis(10);
    let retries = Retries { most: 3, first, longest: Duration::from_secs(2) };
    Client::new(Box::new(model), Ledger::new(budget, None), None).with_retries(retries)
}

/// Asks once; gives the outcome, the calls that the server saw and the client.
fn ask(
    behaviour: impl Fn(usize, &str, &mut TcpStream) + Send + Sync + 'static,
) -> (Result<Answer, Error>, usize, Client) {
    let server = Server::start(behaviour);
    let client = client(&server);
    let began = Instant::now();
    let result = client.ask(&request(), &|| false);
    assert!(began.elapsed() < Duration::from_secs(9), "it hung");
    if let Err(error) = &result {
        let shown = format!("{error} {error:?} {client:?}");
        assert!(!shown.contains("0123456789"), "the key is in {shown}");
        assert!(!error.message.is_empty() && !error.hint.is_empty(), "{error:?}");
    }
    (result, server.calls(), client)
}

fn fails(kind: Kind, calls: usize, behaviour: impl Fn(usize, &str, &mut TcpStream) + Send + Sync + 'static) -> Client {
    let (result, seen, client) = ask(behaviour);
    let error = result.expect_err("an error");
    assert_eq!((error.kind, seen), (kind, calls), "{error}");
    client
}

#[test]
fn a_good_answer() {
    let server = Server::start(|_, _, stream| {
        respond(stream, "200 OK", JSON, answer("(params (a free 1.0)) (* a x)", 31, 12).as_bytes());
    });
    let client = client(&server);
    let found = client.ask(&request(), &|| false).expect("an answer");
    assert_eq!(found.text, "(params (a free 1.0)) (* a x)");
    assert_eq!(found.model.as_deref(), Some("tiny"));
    let spent = client.spent();
    assert_eq!((spent.usage.input, spent.usage.output, spent.answered), (31, 12, 1));
    assert!((spent.money.amount() - (31.0 + 24.0) / 1e6).abs() < 1e-12);
    // The second time it is not asked for.
    assert_eq!(client.ask(&request(), &|| false), Ok(found));
    assert_eq!((server.calls(), client.tally().cached), (1, 1));
    let sent = &server.seen()[0];
    assert!(sent.starts_with("POST /v1/chat/completions HTTP/1.1"), "{sent}");
    assert!(sent.to_ascii_lowercase().contains(&format!("authorization: bearer {KEY}")), "{sent}");
    assert!(sent.contains("\"max_tokens\":100") && sent.contains("ü"), "{sent}");
}

#[test]
fn too_many_requests_are_tried_again_when_the_server_says() {
    let began = Instant::now();
    let (result, calls, client) = ask(|number, _, stream| match number {
        0 => respond(stream, "429 Too Many Requests", "Retry-After: 1\r\n", b"slow down"),
        _ => respond(stream, "200 OK", JSON, answer("x", 1, 1).as_bytes()),
    });
    assert_eq!((result.expect("an answer").text.as_str(), calls), ("x", 2));
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!((client.spent().calls, client.spent().lost), (2, 0), "a refused call costs nothing");
}

#[test]
fn an_hour_is_not_waited_for() {
    let client = fails(Kind::Busy, 1, |_, _, s| respond(s, "429 Too Many Requests", "Retry-After: 3600\r\n", b"{}"));
    assert!(client.check_reached().is_err(), "a run whose model was never reached fails loudly");
}

#[test]
fn a_spent_account_is_not_tried_again() {
    let body = br#"{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}"#;
    fails(Kind::Refused, 1, move |_, _, stream| respond(stream, "429 Too Many Requests", JSON, body));
}

#[test]
fn a_failing_server_is_tried_again_and_given_up() {
    fails(Kind::Server, 3, |_, _, stream| respond(stream, "500 Internal Server Error", "", b"oops"));
}

#[test]
fn a_wrong_key_is_told_once_and_not_repeated() {
    let body = format!(r#"{{"error": {{"message": "Incorrect API key provided: {KEY}", "code": 401}}}}"#);
    fails(Kind::Refused, 1, move |_, request, stream| {
        // The server repeats all that it was sent.
        let all = format!("{body} {request}");
        respond(stream, "401 Unauthorized", JSON, all.as_bytes());
    });
}

#[test]
fn slow_headers_end_at_the_time_limit() {
    let client = fails(Kind::Timeout, 3, |_, _, _| std::thread::sleep(Duration::from_secs(3)));
    assert_eq!(client.spent().lost, 3, "a server that was reached may charge");
}

#[test]
fn a_slow_body_ends_at_the_time_limit() {
    fails(Kind::Timeout, 3, |_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        for _ in 0..30 {
            let _ = stream.write_all(b" ");
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

#[test]
fn half_a_body_is_tried_again() {
    let (result, calls, client) = ask(|number, _, stream| match number {
        0 => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"choices\": [");
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        _ => respond(stream, "200 OK", JSON, answer("x", 1, 1).as_bytes()),
    });
    assert_eq!((result.expect("an answer").text.as_str(), calls), ("x", 2));
    assert_eq!(client.spent().lost, 1);
}

#[test]
fn a_dropped_connection_is_tried_again() {
    let (result, calls, _) = ask(|number, _, stream| match number {
        0 | 1 => drop(stream.shutdown(std::net::Shutdown::Both)),
        _ => respond(stream, "200 OK", JSON, answer("x", 1, 1).as_bytes()),
    });
    assert_eq!((result.expect("an answer").text.as_str(), calls), ("x", 3));
}

#[test]
fn a_page_is_not_an_answer() {
    fails(Kind::Malformed, 1, |_, _, s| respond(s, "200 OK", "Content-Type: text/html\r\n", b"<html>Login</html>"));
}

#[test]
fn an_endless_body_is_cut_off() {
    fails(Kind::TooLong, 1, |_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while stream.write_all(format!("400\r\n{}\r\n", "x".repeat(1024)).as_bytes()).is_ok() {}
    });
}

#[test]
fn other_encodings() {
    fails(Kind::Malformed, 1, |_, _, stream| respond(stream, "200 OK", "Content-Encoding: gzip\r\n", &[31, 139, 8, 0]));
    fails(Kind::Malformed, 1, |_, _, stream| respond(stream, "200 OK", JSON, &[0xC3, 0x28, 0xFF]));
    let text = answer("é", 1, 1);
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let kind = "Content-Type: application/json; charset=ISO-8859-1\r\n";
    let (result, ..) = ask(move |_, _, stream| respond(stream, "200 OK", kind, &latin));
    assert_eq!(result.expect("an answer").text, "é");
    let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let (result, ..) = ask(move |_, _, stream| respond(stream, "200 OK", JSON, &wide));
    assert_eq!(result.expect("an answer").text, "é");
}

#[test]
fn an_error_object_with_status_200() {
    let refused = br#"{"error": {"message": "model not loaded", "type": "invalid_request_error"}}"#;
    fails(Kind::Refused, 1, move |_, _, stream| respond(stream, "200 OK", JSON, refused));
    let busy = br#"{"error": {"message": "later", "type": "overloaded_error"}}"#;
    fails(Kind::Busy, 3, move |_, _, stream| respond(stream, "200 OK", JSON, busy));
}

#[test]
fn odd_answers() {
    let parts =
        br#"{"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}"#;
    let (result, _, client) = ask(move |_, _, stream| respond(stream, "200 OK", JSON, parts));
    assert_eq!(result.expect("an answer").text, "ab");
    let most = request().most_input_tokens() + 2 * 100;
    assert_eq!(client.spent().money.amount(), most as f64 / 1e6, "without a count the whole reservation is charged");
    let empty = br#"{"choices": [{"message": {"content": null}, "finish_reason": "content_filter"}]}"#;
    fails(Kind::Malformed, 1, move |_, _, stream| respond(stream, "200 OK", JSON, empty));
    fails(Kind::Malformed, 1, |_, _, stream| respond(stream, "200 OK", JSON, b"[]"));
    let cut = br#"{"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}"#;
    let (result, ..) = ask(move |_, _, stream| respond(stream, "200 OK", JSON, cut));
    assert!(result.expect("an answer").cut);
    fails(Kind::Malformed, 1, |_, _, stream| drop(stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n")));
}

#[test]
fn redirects_do_not_take_the_key_along() {
    let thief = Server::start(|_, _, stream| respond(stream, "200 OK", JSON, answer("x", 1, 1).as_bytes()));
    let headers = format!("Location: {}/chat/completions\r\n", thief.url);
    fails(Kind::Refused, 1, move |_, _, stream| respond(stream, "307 Temporary Redirect", &headers, b""));
    assert_eq!(thief.calls(), 0);
}

#[test]
fn nobody_listens() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let server = Endpoint::new(&format!("http://127.0.0.1:{port}/v1"), Secret::default());
    let client = Client::new(Box::new(Model::new(server).expect("fine")), Ledger::new(Budget::default(), None), None)
        .with_retries(Retries { most: 2, first: Duration::from_millis(5), ..Retries::default() });
    let error = client.ask(&request(), &|| false).expect_err("nobody is there");
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert_eq!(client.spent().lost, 0);
    let error = client.check_reached().expect_err("it was never reached");
    assert!(error.message.contains("never answered (1 questions)"), "{error}");
}

#[test]
fn endpoints_that_cannot_work_are_refused_before_a_call() {
    for url in ["", "127.0.0.1:8080/v1", "ftp://x/v1", "http://user:pass@host/v1"] {
        let error = Model::new(Endpoint::new(url, Secret::default())).expect_err(url);
        assert_eq!(error.kind, Kind::Settings, "{url}: {error}");
        assert!(!error.to_string().contains("pass@"), "{error}");
    }
    assert_eq!(Model::new(Endpoint::new("https://host/v1", Secret::default())).is_ok(), cfg!(feature = "tls"));
}

#[test]
fn a_call_can_be_cancelled_at_any_moment() {
    let server = Server::start(|_, _, _| std::thread::sleep(Duration::from_secs(5)));
    let mut endpoint = Endpoint::new(&server.url, Secret::default());
    endpoint.timeout = Duration::from_secs(30);
    let client = Client::new(Box::new(Model::new(endpoint).expect("fine")), Ledger::new(Budget::default(), None), None);
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.ask(&request(), &|| stopped.load(Ordering::Relaxed)));
        std::thread::sleep(Duration::from_millis(150));
        let began = Instant::now();
        stopped.store(true, Ordering::Relaxed);
        let error = call.join().expect("no panic").expect_err("it was cancelled");
        assert_eq!(error.kind, Kind::Cancelled);
        assert!(began.elapsed() < Duration::from_millis(500));
    });
}

#[test]
fn calls_keep_a_rate() {
    let server = Server::start(|n, _, s| respond(s, "200 OK", JSON, answer(&format!("{n}"), 1, 1).as_bytes()));
    let client = client(&server).with_rate(600.0);
    let began = Instant::now();
    for sample in 0..4 {
        client.ask(&Request { sample, ..request() }, &|| false).expect("an answer");
    }
    assert!(began.elapsed() >= Duration::from_millis(300), "four calls have three gaps of 100 ms");
    assert_eq!(server.calls(), 4);
}

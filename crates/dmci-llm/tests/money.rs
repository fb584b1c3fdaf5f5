//! The cap holds: calls side by side, runs that are killed, prices that nobody knows.

mod server;

use dmci_llm::client::Client;
use dmci_llm::error::{Error, Kind};
use dmci_llm::http::{Endpoint, Model};
use dmci_llm::ledger::{Budget, Ledger, Money, Price};
use dmci_llm::message::{Answer, Message, Provider, Request, Role, Stop, Usage};
use dmci_llm::record::{Event, Record};
use dmci_llm::secret::Secret;
use server::{JSON, Server, answer, respond};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn request(sample: u64, max_tokens: u64) -> Request {
    let messages = vec![Message::new(Role::User, "A question of some length about a program.")];
    Request { messages, max_tokens, sample, model: "m".into(), ..Request::default() }
}

fn random(state: &AtomicU64) -> u64 {
    // SplitMix64.
    let mut z = state.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A server in memory: answers of random size, some without a count of tokens, some calls lost.
struct Dice(AtomicU64);

impl Provider for Dice {
    fn ask(&self, request: &Request, _: Stop<'_>) -> Result<Answer, Error> {
        let dice = random(&self.0);
        if dice.is_multiple_of(4) {
            std::thread::yield_now();
        }
        match dice % 16 {
            0 => Err(Error::new(Kind::Malformed, "no answer", "")),
            1 => Err(Error::new(Kind::Refused, "no", "")),
            2 => Ok(Answer { text: "x".into(), ..Answer::default() }),
            _ => {
                let output = (dice >> 8) % (request.max_tokens + 1);
                let usage = Some(Usage { input: 1 + (dice >> 40) % request.most_input_tokens(), output });
                Ok(Answer { text: "x".into(), usage, ..Answer::default() })
            }
        }
    }

    fn describe(&self) -> String {
        "dice".into()
    }

    fn is_paid(&self) -> bool {
        true
    }
}

#[test]
fn sixteen_calls_side_by_side_never_pass_the_cap_in_a_thousand_runs() {
    let mut nearly_all = 0;
    for run in 0..1000_u64 {
        let price = Price { input: 0.25 + (run % 7) as f64, output: 1.0 + (run % 11) as f64 };
        let most = price.of(Usage { input: request(0, 500).most_input_tokens(), output: 500 });
        let cap = Money(most.0 * (3 + run % 40) / 2);
        let budget = Budget { money: Some((cap, price)), ..Budget::default() };
        let client = Client::new(Box::new(Dice(AtomicU64::new(run))), Ledger::new(budget, None), None);
        let (refused, number) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    loop {
                        let sample = number.fetch_add(1, Ordering::Relaxed);
                        match client.ask(&request(sample, 500), &|| false) {
                            Err(error) if error.kind == Kind::Budget => break,
                            _ => {}
                        }
                        assert!(client.spent().money <= cap);
                    }
                    refused.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        let spent = client.spent();
        assert!(spent.money <= cap, "run {run}: {} of {}", spent.money.amount(), cap.amount());
        assert_eq!((refused.into_inner(), spent.overruns), (16, 0));
        // It ends because another call would not fit, and for no other reason.
        assert!(spent.money.0 + most.0 > cap.0, "run {run} ended too early");
        nearly_all += u64::from(spent.money.0 * 10 > cap.0 * 8);
    }
    assert!(nearly_all > 500, "{nearly_all} runs used 80% of their budget");
}

#[test]
fn unknown_prices_are_refused_unless_money_is_none() {
    let price = Some(Price { input: 0.25, output: 1.0 });
    for (money, price) in [(None, price), (Some("2.50"), None), (Some("much"), price), (Some("-1"), price)] {
        let error = Budget::paid(money, price).expect_err("refused");
        assert_eq!(error.kind, Kind::Settings, "{error}");
    }
    assert_eq!(Budget::paid(Some("none"), None), Ok(Budget::default()));
    assert!(Budget::paid(Some("2.50"), price).is_ok());
    assert!(Budget::paid(Some("2.50"), Some(Price { input: f64::NAN, output: 1.0 })).is_err());
}

#[test]
fn an_estimate_before_the_run_warns_of_few_rounds() {
    let price = Price { input: 1.0, output: 10.0 };
    let ledger = |cap| {
        let budget = Budget { money: Money::new(cap).map(|cap| (cap, price)), ..Budget::default() };
        Ledger::new(budget, None).estimate(&request(0, 3000), 1)
    };
    let found = ledger(1.0);
    assert!((found.most.amount() - (request(0, 1).most_input_tokens() as f64 + 30_000.0) / 1e6).abs() < 1e-9);
    assert!(found.likely < found.most && found.rounds.is_some_and(|n| n > 90), "{found:?}");
    assert_eq!(found.warning(), None);
    let few = ledger(0.05);
    assert!(few.warning().is_none() || few.rounds.is_some_and(|n| n < 3));
    let none = ledger(0.02);
    assert_eq!(none.rounds, Some(0), "not one call fits with its reservation");
    assert!(none.warning().is_some_and(|w| w.contains("allows 0 rounds")));
    let free = Ledger::new(Budget::default(), None).estimate(&request(0, 3000), 1);
    assert_eq!((free.rounds, free.warning()), (None, None));
}

#[test]
fn caps_of_calls_and_tokens() {
    let client = |budget| Client::new(Box::new(Dice(AtomicU64::new(5))), Ledger::new(budget, None), None);
    let few = client(Budget { calls: Some(3), ..Budget::default() });
    let kinds: Vec<bool> =
        (0..5).map(|s| few.ask(&request(s, 9), &|| false).is_err_and(|e| e.kind == Kind::Budget)).collect();
    assert_eq!(kinds, [false, false, false, true, true]);
    let most = request(0, 9).most_input_tokens() + 9;
    let none = client(Budget { tokens: Some(most - 1), ..Budget::default() });
    assert!(none.ask(&request(0, 9), &|| false).is_err_and(|e| e.kind == Kind::Budget));
}

fn temporary(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dmci-llm-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn paid(url: &str, record: &Arc<Record>) -> Client {
    let model = Model::new(Endpoint::new(url, Secret::new("sk-kept-0123456789"))).expect("fine");
    let budget = Budget { money: Some((Money(u64::MAX / 2), Price { input: 1.0, output: 2.0 })), ..Budget::default() };
    Client::new(Box::new(model), Ledger::new(budget, Some(record.clone())), Some(record.clone()))
}

/// What a killed process does: calls until it dies. Run by the test below in a process of its own.
#[test]
fn a_process_that_is_killed() {
    let (Ok(url), Ok(path)) = (std::env::var("DMCI_LLM_URL"), std::env::var("DMCI_LLM_RECORD")) else { return };
    let record = Arc::new(Record::open(path.as_ref()).expect("a record"));
    let client = paid(&url, &record);
    let first = client.spent().calls * 1000;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let client = &client;
            scope.spawn(move || {
                for sample in 0..10_000 {
                    let _ = client.ask(&request(first + thread * 100 + sample, 50), &|| false);
                }
            });
        }
    });
}

#[cfg(unix)]
#[test]
fn every_reservation_is_accounted_for_after_kill_9() {
    use std::os::unix::process::ExitStatusExt;
    let server = Server::start(|number, _, stream| {
        std::thread::sleep(std::time::Duration::from_millis(number as u64 % 5));
        respond(stream, "200 OK", JSON, answer("x", 40, 10).as_bytes());
    });
    let path = temporary("killed.jsonl");
    let times = if std::env::var_os("DMCI_LONG").is_some() { 50 } else { 10 };
    let (mut calls, mut lost) = (0, 0);
    for _ in 0..times {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "a_process_that_is_killed", "--test-threads=1"])
            .env("DMCI_LLM_URL", &server.url)
            .env("DMCI_LLM_RECORD", &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(60 + server.calls() as u64 % 37));
        child.kill().expect("it is there");
        assert_eq!(child.wait().expect("it ends").signal(), Some(9));
        let record = Arc::new(Record::open(&path).expect("a record that can be read"));
        let (mut reserved, mut settled) = (0, 0);
        for event in record.events() {
            match event {
                Event::Reserve { .. } => reserved += 1,
                Event::Settle { .. } => settled += 1,
                Event::Answer { .. } => {}
            }
        }
        let spent = Ledger::new(Budget::default(), Some(record)).spent();
        assert_eq!((spent.calls, spent.answered, spent.lost), (reserved, settled, reserved - settled));
        (calls, lost) = (spent.calls, spent.lost);
    }
    let text = std::fs::read_to_string(&path).expect("the record");
    assert!(!text.contains("0123456789"), "the key is in the record");
    // Every call that the server saw was on the disk before.
    assert!(calls as usize >= server.calls() && server.calls() > 0, "{calls} {}", server.calls());
    assert!(lost > 0, "no call was under way when the process died: the test shows nothing");
    let record = Arc::new(Record::open(&path).expect("a record"));
    let spent = paid(&server.url, &record).spent();
    let each = 40 + 2 * 10;
    let most = request(0, 50).most_input_tokens() + 2 * 50;
    assert_eq!(spent.money.0, (spent.answered * each + spent.lost * most) * 1_000_000);
    let _ = std::fs::remove_file(&path);
}

#[test]
fn a_record_answers_again_and_is_replayed() {
    let server = Server::start(|number, _, stream| {
        respond(stream, "200 OK", JSON, answer(&format!("answer {number}\n\"quoted\" ü"), 40, 10).as_bytes());
    });
    let path = temporary("again.jsonl");
    let first: Vec<Answer> = {
        let client = paid(&server.url, &Arc::new(Record::open(&path).expect("new")));
        (0..3).map(|s| client.ask(&request(s, 50), &|| false).expect("an answer")).collect()
    };
    // A line that was not finished is dropped.
    let mut text = std::fs::read_to_string(&path).expect("the record");
    std::fs::write(&path, format!("{text}{{\"event\":\"reser")).expect("written");
    let client = paid(&server.url, &Arc::new(Record::open(&path).expect("a record")));
    let again: Vec<Answer> = (0..3).map(|s| client.ask(&request(s, 50), &|| false).expect("an answer")).collect();
    assert_eq!((first.clone(), server.calls(), client.tally().cached), (again, 3, 3));
    let replay = dmci_llm::replay::Replay::new(&text, "again.jsonl").expect("a record");
    let replayed: Vec<Answer> = (0..3).map(|s| replay.ask(&request(s, 50), &|| false).expect("an answer")).collect();
    assert_eq!(first, replayed);
    let error = replay.ask(&request(9, 50), &|| false).expect_err("never asked");
    assert_eq!(error.kind, Kind::NotRecorded);
    text = "{\"text\": \"one\"}\n\n{\"text\": \"two\"}\n".into();
    let by_hand = dmci_llm::replay::Replay::new(&text, "hand.jsonl").expect("answers");
    let texts: Vec<String> = (0..2).map(|s| by_hand.ask(&request(s, 1), &|| false).expect("an answer").text).collect();
    assert_eq!(texts, ["one", "two"]);
    assert!(dmci_llm::replay::Replay::new("{\"text\": 1}\n", "bad.jsonl").is_err_and(|e| e.message.contains("line 1")));
    let _ = std::fs::remove_file(&path);
}

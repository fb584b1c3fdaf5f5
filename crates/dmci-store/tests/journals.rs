//! Journals keep what they were told, and say what is wrong with files that are none.

#![allow(clippy::unwrap_used)]

use dmci_store::{Error, Journal, Row};
use std::path::PathBuf;

fn place(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dmci-store-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("run.dmci")
}

#[test]
fn results_come_back_in_order() {
    let path = place("order");
    let row = Row { hash: "a".into(), program: "x".into(), nodes: 1, score: 0.5, fit: f64::NAN, validation: 1e-300 };
    {
        let mut journal = Journal::create(&path, &[("seed", "7")]).unwrap();
        for i in 0..20u8 {
            journal.tell("scored", &[i, 0, 255], std::slice::from_ref(&row)).unwrap();
        }
        journal.note("the clock ended it").unwrap();
    }
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.setting("seed").unwrap().as_deref(), Some("7"));
    assert_eq!(journal.len(), 20);
    assert!((0..20).all(|i| journal.told(i).unwrap() == [i as u8, 0, 255]));
}

#[test]
fn what_is_wrong_is_said() {
    let path = place("wrong");
    assert!(matches!(Journal::open(&path), Err(Error::Missing(_))));
    let journal = Journal::create(&path, &[]).unwrap();
    assert!(matches!(Journal::open(&path), Err(Error::Locked(_))));
    assert!(Journal::read(&path).is_ok_and(|j| j.is_empty()));
    assert!(matches!(Journal::create(&path, &[]), Err(Error::Exists(_))));
    drop(journal);
    assert!(Journal::open(&path).is_ok());
    std::fs::write(&path, "not a database, but a text that is long enough to be read as one".repeat(100)).unwrap();
    assert!(matches!(Journal::open(&path), Err(Error::Damaged(..))));
    let nowhere = path.join("below/a/file");
    assert!(matches!(Journal::create(&nowhere, &[]), Err(Error::Failed(..))));
}

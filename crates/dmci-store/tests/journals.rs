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

/// Whatever byte of a file is another one, a journal says so or gives back what was written.
#[test]
fn another_byte_is_noticed() {
    let path = place("byte");
    {
        let mut journal = Journal::create(&path, &[("seed", "7")]).unwrap();
        for i in 0..12u8 {
            journal.tell("scored", &vec![i; 700], &[]).unwrap();
        }
    }
    let whole = std::fs::read(&path).unwrap();
    let (mut noticed, mut tried) = (0, 0);
    for at in (0..whole.len()).step_by(61) {
        let mut changed = whole.clone();
        changed[at] ^= 0x24;
        std::fs::write(&path, &changed).unwrap();
        tried += 1;
        let read = Journal::read(&path).and_then(|j| (0..j.len()).map(|i| j.told(i)).collect::<Result<Vec<_>, _>>());
        match read {
            Err(Error::Damaged(..)) => noticed += 1,
            Err(other) => panic!("byte {at}: {other}"),
            // Bytes of free space and counters that nothing reads.
            Ok(list) => {
                assert!(list.iter().enumerate().all(|(i, b)| *b == vec![i as u8; 700]) && list.len() == 12, "{at}")
            }
        }
    }
    assert!(noticed > tried / 4, "{noticed} of {tried}");
    for length in [0, 1, 100, 4096, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let read = Journal::read(&path).and_then(|j| (0..j.len()).map(|i| j.told(i)).collect::<Result<Vec<_>, _>>());
        assert!(matches!(read, Err(Error::Damaged(..))), "{length} bytes: {read:?}");
    }
}

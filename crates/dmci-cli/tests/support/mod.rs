//! Running the command in a folder of its own.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run of the command gave.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

/// The command, not started yet, with nothing of the user's surroundings.
pub fn command(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dmci"));
    command.args(args).current_dir(folder).env("HOME", folder).env_remove("NO_COLOR");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the command.
pub fn dmci(args: &[&str], input: &str, folder: &Path) -> Ran {
    let mut child = command(args, folder).spawn().expect("the command starts");
    // A command that does not read its input may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

/// A temporary folder.
pub struct Workspace(PathBuf);

impl Workspace {
    pub fn new(name: &str) -> Workspace {
        let path = std::env::temp_dir().join(format!("dmci-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Workspace(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), content).expect("a file in a temporary folder");
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Words of a command line; single quotes keep blanks.
pub fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The files that commands of the tests name.
pub fn fixtures(space: &Workspace) {
    std::fs::create_dir_all(space.path().join("folder")).expect("a folder");
    space.write("good.scm", "(define (double x) (* 2 x))\n(double 21)\n");
    space.write("bad.scm", "(define (f x) (if))\n(let ((x 1 2)) x)\n");
    space
        .write("failing.scm", "(define (evaluate forms env)\n  (error \"this is not in my language:\" (car forms)))\n");
    space.write("arity.scm", "(define (evaluate forms) forms)\n");
    space.write("car.scm", "(define (head x) (car x))\n(head 5)\n");
    space.write("rows.csv", "t,n,name,y\n0.0,1,a,1.0\n1.0,2,b,2.5\n2.0,3,c,3.0\n");
    space.write("line.scm", "(params (a free 1.0) (b free 0.0))\n(+ b (* a t))\n");
    space.write("typo.csv", "t,y\n0.0,1.0\n1.0,2.5 m\n2.0,3.0\n");
    space.write("nan.csv", "t,y\n0.0,1.0\nnan,2.5\n2.0,3.0\n");
    space.write("header.csv", "t,y\n");
    space.write("ragged.csv", "t,y\n0.0,1.0\n1.0\n");
    space.write("gap.csv", "t,y\n0.0,1.0\n,2.5\n");
    space.write("quote.csv", "t,y\n0.0,1.0\n1.0,\"2.5\n2.0,3.0\n");
    space.write("twice.csv", "t,t,y\n0.0,1.0,2.0\n");
    space.write("latin.csv", b"t,y\n0.0,1.0\n1.0,\xb5\n");
    space.write("minus.csv", "t,w,y\n0.0,1.0,1.0\n1.0,-1.0,2.0\n");
    space.write("nothing.csv", "t,y\n0.0,NA\n1.0,NA\n");
    space.write("text.npy", "no array");
    space.write("text.npz", "no archive");
    space.write("binary.scm", b"(display \"\xff\xfe\")");
    space.write("text.ncg", "(+ 1 2)\n");
    space.write("empty.ncg", "");
    for name in ["good", "car"] {
        let (from, to) = (format!("{name}.scm"), format!("{name}.ncg"));
        assert_eq!(dmci(&["compile", &from, "-o", &to], "", space.path()).code, 0);
    }
    let good = std::fs::read(space.path().join("good.ncg")).expect("it was compiled");
    space.write("cut.ncg", &good[..good.len() / 2]);
    space.write("short.ncg", &good[..11]);
    let mut version = good.clone();
    version[8] = 99;
    space.write("version.ncg", version);
    let mut changed = good.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    space.write("changed.ncg", changed);
    let mut forged = good;
    forged.truncate(last - 3);
    let checksum = checksum(&forged[20..]);
    forged[12..20].copy_from_slice(&checksum.to_le_bytes());
    space.write("forged.ncg", forged);
}

/// The checksum of `.ncg` files (FNV-1a), so that a wrong content can be given a right one.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

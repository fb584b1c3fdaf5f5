//! Running a target in a child process and watching it: a crash, a hang or a memory blow-up of the
//! child is a finding, and the input that caused it is known.

use crate::corpus;
use crate::shrink;
use crate::targets::Target;
use dmci_generate::random::Random;
use dmci_generate::sexp;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An input may take this much time of the processor: a busy machine is no hang.
const HANG: Duration = Duration::from_secs(5);
/// And this long in all: a child that waits for ever uses no time of the processor.
const WAIT: Duration = Duration::from_secs(120);
/// The child may use this much memory.
const MAX_RSS: u64 = 2 << 30;
/// The stack that the checks run on, as a thread of a program that uses the library would have.
const STACK: usize = 2 << 20;
/// How long a found case is made smaller.
const MINIMISE: Duration = Duration::from_secs(40);
/// Cases kept that look alike.
const ALIKE: usize = 6;

/// A run of the fuzzer.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// What is fuzzed.
    pub target: Target,
    /// For how long.
    pub time: Duration,
    /// The same seed makes the same inputs.
    pub seed: u64,
    /// Where found cases go.
    pub keep: PathBuf,
    /// Whether found cases are made smaller.
    pub minimise: bool,
}

/// Something that must not happen, and the input that made it happen.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What happened.
    pub what: String,
    /// The input.
    pub input: Vec<u8>,
    /// Where it was stored.
    pub path: PathBuf,
}

/// What came of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Inputs tried.
    pub inputs: u64,
    /// Different findings.
    pub findings: Vec<Finding>,
}

/// How a child ended.
enum End {
    Fine(u64),
    Bad(String),
}

/// Runs a campaign with `program`, the `dmci-fuzz` binary, as its child.
pub fn run(program: &Path, campaign: &Campaign) -> io::Result<Summary> {
    let folder = std::env::temp_dir().join(format!("dmci-fuzz-{}-{}", campaign.target.name(), std::process::id()));
    fs::create_dir_all(&folder)?;
    let current = folder.join("current");
    let mut summary = Summary::default();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut left = campaign.time;
    let mut seed = campaign.seed;
    while left > Duration::ZERO {
        let start = Instant::now();
        fs::write(&current, [0; 16])?;
        let mut command = Command::new(program);
        command.arg(campaign.target.name()).arg("--worker").arg(&current);
        command.args(["--seconds", &left.as_secs_f64().to_string(), "--seed", &seed.to_string()]);
        let end = watch(&mut command, &current)?;
        left = left.saturating_sub(start.elapsed());
        seed = seed.wrapping_add(1_000_003);
        let (count, input) = read_input(&current)?;
        match end {
            End::Fine(inputs) => {
                summary.inputs += inputs;
                break;
            }
            End::Bad(what) => {
                summary.inputs += count;
                let alike = seen.entry(signature(&what)).or_default();
                *alike += 1;
                let limit = if what.starts_with("FAILED") { ALIKE } else { 1 };
                if *alike > limit {
                    continue;
                }
                let input =
                    if campaign.minimise { minimise(program, campaign.target, &folder, input, &what)? } else { input };
                let path = store(&campaign.keep, campaign.target, &input)?;
                eprintln!("found: {what}\n  in {}", path.display());
                summary.findings.push(Finding { what, input, path });
            }
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(summary)
}

/// The child's side: inputs until the time is over, each written to `current` before it is tried.
pub fn work(target: Target, current: &Path, time: Duration, seed: u64) -> io::Result<()> {
    let seeds = corpus::seeds();
    let mut random = Random::new(seed);
    let mut file = File::options().write(true).open(current)?;
    let start = Instant::now();
    let mut count = 0u64;
    while start.elapsed() < time {
        let input = target.input(&mut random, &seeds);
        count += 1;
        let mut record = (input.len() as u64).to_le_bytes().to_vec();
        record.extend_from_slice(&count.to_le_bytes());
        record.extend_from_slice(&input);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&record)?;
        if let Err(what) = target.check(&input) {
            eprintln!("FAILED {what}");
            std::process::exit(3);
        }
    }
    println!("{count}");
    Ok(())
}

/// Runs `work` on a thread with a stack of the size that the checks are meant for.
pub fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    std::thread::Builder::new().stack_size(STACK).spawn(work).ok()?.join().ok()
}

/// Tries one input in a child: what went wrong, if anything.
pub fn replay(program: &Path, target: Target, input: &Path) -> io::Result<Option<String>> {
    let mut command = Command::new(program);
    command.arg(target.name()).arg("--replay").arg(input);
    Ok(match watch(&mut command, input)? {
        End::Fine(_) => None,
        End::Bad(what) => Some(what),
    })
}

/// Starts a child and waits for its end; `alive` is a file that it touches with every input.
fn watch(command: &mut Command, alive: &Path) -> io::Result<End> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let mut killed = None;
    let mut input = (std::time::SystemTime::UNIX_EPOCH, Instant::now(), processor_time(child.id()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
        let touched = fs::metadata(alive).and_then(|m| m.modified()).unwrap_or(input.0);
        if touched != input.0 {
            input = (touched, Instant::now(), processor_time(child.id()));
        }
        let used = processor_time(child.id()).saturating_sub(input.2);
        if used > HANG || input.1.elapsed() > WAIT {
            killed = Some(format!("HANG more than {} seconds", HANG.as_secs()));
        } else if resident(child.id()) > MAX_RSS {
            killed = Some(format!("MEMORY more than {} MiB", MAX_RSS >> 20));
        }
        if killed.is_some() {
            child.kill()?;
            break child.wait()?;
        }
    };
    let stderr = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
    if let Some(why) = killed {
        return Ok(End::Bad(why));
    }
    if status.success() {
        let mut text = String::new();
        if let Some(mut pipe) = child.stdout.take() {
            pipe.read_to_string(&mut text)?;
        }
        return Ok(End::Fine(text.trim().parse().unwrap_or(0)));
    }
    let said = stderr.trim();
    Ok(End::Bad(if said.starts_with("FAILED") { said.to_string() } else { format!("CRASH {status}: {said}") }))
}

/// Memory of a process, where the system tells.
fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Time of the processor that a process has used, where the system tells.
fn processor_time(pid: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything; user and system time, in hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

fn read_input(current: &Path) -> io::Result<(u64, Vec<u8>)> {
    let bytes = fs::read(current)?;
    let word = |at: usize| bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes);
    let end = (16 + word(0) as usize).min(bytes.len());
    Ok((word(8), bytes.get(16..end).unwrap_or_default().to_vec()))
}

/// What two findings of the same bug have in common.
fn signature(what: &str) -> String {
    let line = what.lines().find(|line| line.contains("panicked at") || line.contains("overflowed its stack"));
    let line = line.or(what.lines().next()).unwrap_or("");
    let line = line.find("panicked at").map_or(line, |at| &line[at..]);
    line.chars().take(60).collect()
}

fn minimise(program: &Path, target: Target, folder: &Path, input: Vec<u8>, what: &str) -> io::Result<Vec<u8>> {
    let start = Instant::now();
    let file = folder.join("candidate");
    let wanted = signature(what);
    let fails = |bytes: &[u8]| {
        start.elapsed() < MINIMISE
            && fs::write(&file, bytes).is_ok()
            && matches!(replay(program, target, &file), Ok(Some(what)) if signature(&what) == wanted)
    };
    if matches!(target, Target::Reader | Target::Ncg) {
        return Ok(shorter(input, fails));
    }
    let text = String::from_utf8_lossy(&input).into_owned();
    let forms = sexp::parse(&text);
    if !fails(sexp::text_of(&forms).as_bytes()) {
        return Ok(shorter(input, fails));
    }
    let small = shrink::shrink(forms, 2000, |forms| fails(sexp::text_of(forms).as_bytes()));
    Ok(sexp::text_of(&small).into_bytes())
}

/// Leaves out larger and then smaller pieces while the rest still fails.
fn shorter(mut best: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut piece = best.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < best.len() {
            let mut candidate = best.clone();
            candidate.drain(at..(at + piece).min(best.len()));
            if fails(&candidate) {
                best = candidate;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    best
}

fn store(folder: &Path, target: Target, input: &[u8]) -> io::Result<PathBuf> {
    let folder = folder.join(target.name());
    fs::create_dir_all(&folder)?;
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3));
    let extension = if target == Target::Ncg { "ncg" } else { "scm" };
    let path = folder.join(format!("{hash:016x}.{extension}"));
    fs::write(&path, input)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_does_not_end_is_stopped() {
        let mut endless = Command::new("sh");
        endless.args(["-c", "while :; do :; done"]);
        let end = watch(&mut endless, Path::new("Cargo.toml")).expect("there is a shell");
        assert!(matches!(end, End::Bad(what) if what.starts_with("HANG")));
    }
}

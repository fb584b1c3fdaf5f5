//! `dmci-fuzz TARGET [--seconds N] [--seed S] [--keep FOLDER] [--no-minimise]`: feeds a target with
//! inputs and reports what must not happen. `dmci-fuzz TARGET --replay FILE` tries one input again.

use dmci_fuzz::corpus;
use dmci_fuzz::supervisor::{self, Campaign};
use dmci_fuzz::targets::Target;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: dmci-fuzz TARGET [--seconds N] [--seed S] [--keep FOLDER] [--no-minimise] [--replay FILE]
targets: reader expander compiler vm ncg";

struct Arguments {
    campaign: Campaign,
    worker: Option<PathBuf>,
    replay: Option<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args().skip(1);
    let target = Target::named(&words.next()?)?;
    let time = Duration::from_secs(20);
    let campaign = Campaign { target, time, seed: 0, keep: corpus::regressions(), minimise: true };
    let mut all = Arguments { campaign, worker: None, replay: None };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => all.campaign.time = Duration::try_from_secs_f64(words.next()?.parse().ok()?).ok()?,
            "--seed" => all.campaign.seed = words.next()?.parse().ok()?,
            "--keep" => all.campaign.keep = words.next()?.into(),
            "--no-minimise" => all.campaign.minimise = false,
            "--worker" => all.worker = Some(words.next()?.into()),
            "--replay" => all.replay = Some(words.next()?.into()),
            _ => return None,
        }
    }
    Some(all)
}

fn main() -> ExitCode {
    let Some(Arguments { campaign, worker, replay }) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let target = campaign.target;
    if let Some(current) = worker {
        let done = supervisor::on_small_stack(move || supervisor::work(target, &current, campaign.time, campaign.seed));
        return if matches!(done, Some(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::from(101) };
    }
    if let Some(file) = replay {
        let input = match std::fs::read(&file) {
            Ok(input) => input,
            Err(error) => {
                eprintln!("cannot read {}: {error}", file.display());
                return ExitCode::from(2);
            }
        };
        return match supervisor::on_small_stack(move || target.check(&input)) {
            Some(Ok(())) => ExitCode::SUCCESS,
            Some(Err(what)) => {
                eprintln!("FAILED {what}");
                ExitCode::from(3)
            }
            None => ExitCode::from(101),
        };
    }
    let result = std::env::current_exe().and_then(|program| supervisor::run(&program, &campaign));
    match result {
        Ok(summary) => {
            println!("{}: {} inputs, {} findings", target.name(), summary.inputs, summary.findings.len());
            ExitCode::from(u8::from(!summary.findings.is_empty()))
        }
        Err(error) => {
            eprintln!("dmci-fuzz: {error}");
            ExitCode::from(2)
        }
    }
}

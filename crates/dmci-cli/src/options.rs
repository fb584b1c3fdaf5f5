//! From arguments to options of a run.

use crate::args::{RunArgs, SwitchArgs};
use crate::source::load_program;
use crate::{memory, output};
use dmci::ErrorCode;
use dmci::{Bindings, Cancel, Datum, Diagnostic, Mode, ModelOptions, Passes, Reason, Report, RunOptions};
use dmci_fit::RunSettings;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The options of a run; reads the evaluator's file if the mode names one.
pub fn run_options(args: &RunArgs) -> Result<RunOptions, Report> {
    let mut settings = RunSettings::from_map(given(args))?;
    settings.set = bindings(&args.set)?;
    options_of(&settings)
}

/// The options that settings stand for; reads the evaluator's file if the mode names one.
pub fn options_of(settings: &RunSettings) -> Result<RunOptions, Report> {
    let read = |file: &str| load_program(Path::new(file)).map(|source| source.program());
    let evaluator = settings.evaluator().map(read).transpose()?;
    let options = settings.options(evaluator)?;
    memory::limit(options.limits.heap);
    Ok(options)
}

/// The mode of a name.
pub fn mode(name: &str) -> Result<Mode, Report> {
    Ok(options_of(&RunSettings { mode: name.to_string(), ..RunSettings::default() })?.mode)
}

/// The options that were given, as settings.
pub fn given(args: &impl Serialize) -> Map<String, Json> {
    let mut settings = match serde_json::to_value(args) {
        Ok(Json::Object(settings)) => settings,
        _ => Map::new(),
    };
    // A switch that was not given is off.
    settings.retain(|_, value| !value.is_null() && *value != Json::Bool(false));
    settings
}

/// The values of `--set`; all bad ones are reported.
pub fn bindings(settings: &[String]) -> Result<Bindings, Report> {
    let mut bindings = Bindings::new();
    let mut bad: Option<Report> = None;
    let mut add = |report: Report| match &mut bad {
        None => bad = Some(report),
        Some(bad) => bad.append(report),
    };
    for setting in settings {
        match Datum::parse_setting(setting) {
            Ok((name, _)) if bindings.iter().any(|(other, _)| *other == name) => {
                let message = format!("{name} is set twice");
                add(output::usage_error(message, format!("keep one --set {name}=...")));
            }
            Ok(binding) => bindings.push(binding),
            Err(report) => add(report),
        }
    }
    bad.map_or(Ok(bindings), Err)
}

/// Reads units of columns: `x=m,v=m/s`.
pub fn units(text: &str) -> Result<BTreeMap<String, String>, Report> {
    let of = |part: &str| match part.split_once('=') {
        Some((name, unit)) => Ok((name.trim().to_string(), unit.trim().to_string())),
        None => Err(output::usage_error(format!("{part} is not a column with a unit"), "write x=m,v=m/s")),
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(of).collect()
}

/// Lets Ctrl-C stop the run; a second Ctrl-C ends the process at once.
pub fn stop_on_interrupt(cancel: &Cancel) {
    let cancel = cancel.clone();
    // Without a handler Ctrl-C still ends the process, so a failure here is no reason to stop.
    let _ = ctrlc::set_handler(move || {
        if cancel.is_raised(Reason::Person) {
            std::process::exit(130);
        }
        cancel.cancel();
    });
}

/// The time that all rows of a command have together: each of them alone would have as much.
pub struct Clock {
    rang: Arc<AtomicBool>,
    limit: Duration,
}

impl Clock {
    /// Cancels a run when its time is over.
    pub fn start(run: &RunOptions) -> Clock {
        let clock = Clock { rang: Arc::default(), limit: run.limits.time };
        let (rang, limit, cancel) = (clock.rang.clone(), clock.limit, run.cancel.clone());
        // Without a thread, the limit holds for each row.
        let _ = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(limit);
            if !cancel.is_cancelled() {
                rang.store(true, Ordering::SeqCst);
                cancel.raise(Reason::Time);
            }
        });
        clock
    }

    /// Whether the time is over.
    pub fn rang(&self) -> bool {
        self.rang.load(Ordering::SeqCst)
    }

    /// A cancelled run is one that took too long, if the time is over.
    pub fn explain(&self, report: &mut Report) {
        for diagnostic in report.diagnostics.iter_mut().filter(|d| d.is_cancelled() && self.rang()) {
            let labels = std::mem::take(&mut diagnostic.labels);
            *diagnostic = *self.over();
            diagnostic.labels = labels;
        }
    }

    /// Fails if the run was cut short.
    pub fn check(&self, cancel: &Cancel) -> Result<(), Report> {
        match (self.rang(), cancel.is_cancelled()) {
            (true, _) => Err(Report::from(self.over())),
            (false, true) => Err(Report::from(Diagnostic::error(ErrorCode::E0409, "the run was cancelled"))),
            _ => Ok(()),
        }
    }

    fn over(&self) -> Box<Diagnostic> {
        let message = format!("all rows together took more than {} s", self.limit.as_secs_f64());
        Diagnostic::error(ErrorCode::E0405, message).help("raise the limit with --time")
    }
}

/// The names of `--wrt`, if it is given.
pub fn wrt(list: Option<&str>) -> Option<Vec<String>> {
    list.map(names)
}

/// Names with commas between them; between bars, a name may have anything in it.
pub fn names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut inside = false;
    for c in list.chars() {
        inside ^= c == '|';
        match names.last_mut() {
            Some(name) if inside || c != ',' => name.push(c),
            _ => names.push(String::new()),
        }
    }
    let plain = |name: &str| match name.starts_with('|') {
        true => Datum::parse_setting(&format!("{name}=0")).map_or(name.to_string(), |setting| setting.0),
        false => name.to_string(),
    };
    names.iter().map(|name| plain(name.trim())).collect()
}

/// The passes that are switched on.
pub fn passes(switches: &SwitchArgs) -> Passes {
    Passes { dead: !switches.no_dead, merge: !switches.no_merge, stage: !switches.no_stage, split: !switches.no_split }
}

/// How a program is run over rows.
pub fn model_options(run: RunOptions, switches: &SwitchArgs) -> ModelOptions {
    ModelOptions {
        run,
        passes: passes(switches),
        joins: !switches.no_joins,
        loops: !switches.no_loops,
        ..ModelOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_stand_between_bars() {
        assert_eq!(names("a, b"), ["a", "b"]);
        assert_eq!(names("|a b|,c,|d,e|"), ["a b", "c", "d,e"]);
    }
}

//! `dmci sample`: draws from a posterior.

use crate::args::sample::Sample as Arguments;
use crate::fit::request::{self, Loaded};
use crate::{files, options, output};
use dmci::ErrorCode;
use dmci::{Datum, Diagnostic, Report};
use dmci_plot::{aligned, digits};
use dmci_sample::{SampleOptions, Samples, Summary, sample as draw};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// Most numbers that are kept.
const MOST: usize = 1 << 28;

/// Samples a posterior.
pub fn sample(args: &Arguments) -> u8 {
    match run(args) {
        Ok(code) => code,
        Err(report) => output::fail(&report, args.json),
    }
}

fn run(args: &Arguments) -> Result<u8, Report> {
    let request = request::with_options(None, options::given(args), &args.options.set)?;
    let settings = settings(args, request.run.seed)?;
    if let Some(path) = &args.out {
        files::check_place(path, "--out")?;
    }
    let run = options::options_of(&request.run)?;
    let problem = Loaded::read(&request)?.problem(run.clone())?;
    options::stop_on_interrupt(&run.cancel);
    let samples = draw(&problem, &settings, &|_| !run.cancel.is_cancelled())?;
    if samples.chains.iter().all(Vec::is_empty) {
        return Err(Report::from(Diagnostic::error(ErrorCode::E0409, "interrupted before the first draw was kept")));
    }
    let summaries = samples.summaries();
    if args.json {
        output::print_json(&to_json(&settings, &samples, &summaries));
    } else if !args.quiet {
        output::print(&table(&samples, &summaries));
    }
    if let Some(path) = &args.out {
        let is_archive = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
        let bytes = if is_archive { npz(&samples)? } else { csv(&samples).into_bytes() };
        files::write(path, &bytes, "--out")?;
    }
    Ok(if samples.interrupted { 130 } else { 0 })
}

/// How to sample; refuses more draws than memory holds.
fn settings(args: &Arguments, seed: u64) -> Result<SampleOptions, Report> {
    let usual = SampleOptions::default();
    let count = |given: Option<u64>, usual: usize| given.map_or(usual, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let settings = SampleOptions {
        chains: count(args.chains, usual.chains),
        draws: count(args.draws, usual.draws),
        tune: count(args.tune, usual.tune),
        seed,
    };
    let SampleOptions { chains, draws, tune, .. } = settings;
    if chains > 1000 || draws.saturating_mul(chains) > MOST {
        let message = format!("expected at most 1000 chains and {MOST} draws, got {chains} of {draws}");
        return Err(output::usage_error(message, "fewer draws tell as much: look at the effective size"));
    }
    if chains == 0 || draws == 0 || tune == 0 {
        let message = format!("expected at least one chain and one draw, got {chains} chains of {draws} after {tune}");
        return Err(output::usage_error(message, "4 chains of 1000 draws after 1000 are usual"));
    }
    Ok(settings)
}

fn table(samples: &Samples, summaries: &[Summary]) -> String {
    let mut rows = vec![["parameter", "mean", "sd", "5%", "50%", "95%", "R-hat", "effective"].map(String::from)];
    for s in summaries {
        let [low, middle, high] = s.quantiles.map(|q| digits(q, 5));
        let r_hat = format!("{:.3}", s.r_hat);
        rows.push([
            s.name.clone(),
            digits(s.mean, 5),
            digits(s.sd, 3),
            low,
            middle,
            high,
            r_hat,
            digits(s.effective.round(), 6),
        ]);
    }
    let mut text = aligned(&rows);
    let draws: usize = samples.chains.iter().map(|c| c.len() / samples.names.len().max(1)).sum();
    let _ = writeln!(
        text,
        "\n{draws} draws of {} chains, {} divergences, {} gradients",
        samples.chains.len(),
        samples.divergences,
        samples.gradients
    );
    if summaries.iter().any(|s| s.r_hat > 1.05) {
        text += "the chains do not agree (R-hat above 1.05): draw more, or look for several modes\n";
    }
    if samples.divergences > 0 {
        text +=
            "divergences say that the posterior was not explored everywhere: tighten priors, or rewrite the model\n";
    }
    text
}

fn to_json(settings: &SampleOptions, samples: &Samples, summaries: &[Summary]) -> Json {
    let number = |x: f64| Datum::Real(x).to_json();
    let parameters: Map<String, Json> = summaries
        .iter()
        .map(|s| {
            let [low, middle, high] = s.quantiles.map(number);
            let entry = json!({
                "mean": number(s.mean), "sd": number(s.sd), "q5": low, "median": middle, "q95": high,
                "r_hat": number(s.r_hat), "effective": number(s.effective),
            });
            (s.name.clone(), entry)
        })
        .collect();
    json!({
        "schema": "dmci-sample-1",
        "engine": {"version": env!("CARGO_PKG_VERSION")},
        "chains": settings.chains,
        "draws": settings.draws,
        "tune": settings.tune,
        "divergences": samples.divergences,
        "gradients": samples.gradients,
        "interrupted": samples.interrupted,
        "parameters": parameters,
    })
}

/// For each number an array with a row for each chain; an interrupted chain ends with NaN.
fn npz(samples: &Samples) -> Result<Vec<u8>, Report> {
    let width = samples.names.len().max(1);
    let longest = samples.chains.iter().map(|c| c.len() / width).max().unwrap_or(0);
    let arrays: Vec<(String, Vec<usize>, Vec<f64>)> = samples
        .names
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let draw = |chain: &Vec<f64>, i: usize| chain.get(i * width + k).copied().unwrap_or(f64::NAN);
            let numbers = samples.chains.iter().flat_map(|chain| (0..longest).map(move |i| draw(chain, i)));
            (name.clone(), vec![samples.chains.len(), longest], numbers.collect())
        })
        .collect();
    dmci_fit::write_npz(&arrays)
}

fn csv(samples: &Samples) -> String {
    let mut text = format!("chain,draw,{}\n", samples.names.join(","));
    for (chain, draws) in samples.chains.iter().enumerate() {
        for (i, draw) in draws.chunks(samples.names.len().max(1)).enumerate() {
            let cells: Vec<String> = draw.iter().map(|x| format!("{x:?}")).collect();
            let _ = writeln!(text, "{chain},{i},{}", cells.join(","));
        }
    }
    text
}

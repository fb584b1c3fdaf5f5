//! `dmci predict`: new rows from a fit, with intervals.

use crate::args::predict::Predict;
use crate::fit::request::read_fit;
use crate::options::Clock;
use crate::{files, options, output};
use dmci::Report;
use dmci_fit::{Grid, PredictSettings, columns_to_predict, words};

/// Failed rows that are shown in full.
const SHOWN: usize = 5;

/// Predicts new rows.
pub fn predict(args: &Predict) -> u8 {
    run(args).unwrap_or_else(|report| output::fail(&report, args.json))
}

fn run(args: &Predict) -> Result<u8, Report> {
    if let Some(path) = &args.out {
        files::check_place(path, "--out")?;
    }
    let settings = PredictSettings::from_map(options::given(args))?;
    let run = options::run_options(&args.options)?;
    let fit = read_fit(&args.fit)?;
    let read = columns_to_predict(&fit)?;
    let table = match (&args.data, &settings.at) {
        (Some(path), _) => files::read_columns(path, &words(args.missing.as_deref()), &read)?,
        (None, at) => Grid::parse(at.as_deref().unwrap_or_default())?.table(&fit)?,
    };
    options::stop_on_interrupt(&run.cancel);
    let clock = Clock::start(&run);
    let mut found = dmci_fit::predict(&fit, &table, &settings, run)?;
    found.failures.iter_mut().for_each(|(_, report)| clock.explain(report));
    let code = found.failures.iter().map(|f| f.1.exit_code()).max().unwrap_or(0);
    let text = if args.json { format!("{}\n", found.to_json(output::to_json)) } else { found.to_csv() };
    match &args.out {
        Some(path) => files::write(path, text.as_bytes(), "--out")?,
        None => output::print(&text),
    }
    if !args.json {
        if !found.warnings.diagnostics.is_empty() {
            output::print_report(&found.warnings);
        }
        for (row, report) in found.failures.iter().take(SHOWN) {
            output::complain(&format!("row {}:", row + 1));
            output::print_report(report);
        }
        let more = found.failures.len().saturating_sub(SHOWN) + found.cut.len().saturating_sub(1);
        if more > 0 {
            output::complain(&format!("... and {more} more rows failed"));
        }
    }
    Ok(code)
}

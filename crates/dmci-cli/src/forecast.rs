//! `dmci forecast`: a model beside baselines, from several origins.

use crate::args::forecast::Forecast;
use crate::fit::progress::Meter;
use crate::fit::request::{Loaded, with_options};
use crate::{files, options, output};
use dmci::{ErrorCode, Report};
use dmci_fit::{ForecastSettings, Progress};

/// Forecasts.
pub fn forecast(args: &Forecast) -> u8 {
    run(args).unwrap_or_else(|report| output::fail(&with_its_limit(report), args.json))
}

/// Names the limit of time as a forecast does: its `--time` is a column.
fn with_its_limit(mut report: Report) -> Report {
    for diagnostic in report.diagnostics.iter_mut().filter(|d| d.code == ErrorCode::E0405) {
        diagnostic.help = diagnostic.help.take().map(|help| help.replace("‹time›", "‹timeout›"));
    }
    report
}

fn run(args: &Forecast) -> Result<u8, Report> {
    for (path, option) in [(&args.out, "--out"), (&args.plot, "--plot")] {
        path.iter().try_for_each(|path| files::check_place(path, option))?;
    }
    let mut given = options::given(args);
    let mut own = options::given(&args.forecast);
    // Groups are series; only a program with an objective is fitted series by series.
    own.extend(given.get("group").cloned().map(|group| ("group".to_string(), group)));
    if !args.data.objective {
        given.remove("group");
    }
    let settings = ForecastSettings::from_map(own)?;
    let request = with_options(None, given, &args.options.set)?;
    let name = args.program.file.as_deref().or(args.program.formula.as_deref()).unwrap_or("model");
    let entrant = Loaded::read_with(&request, &settings.columns())?.entrant(name);
    let run = options::run_options(&args.options)?;
    options::stop_on_interrupt(&run.cancel);
    let mut meter = Meter::new(!args.json);
    let mut watch = |progress: &Progress| meter.watch(progress, &run.cancel);
    let found = dmci_fit::forecast(&entrant, &settings, &run, &mut watch);
    meter.clear();
    let found = found?;
    if let Some(path) = &args.out {
        files::write(path, found.to_csv().as_bytes(), "--out")?;
    }
    if let Some(path) = &args.plot {
        files::write(path, found.figure().svg().as_bytes(), "--plot")?;
    }
    match args.json {
        true => output::print_json(&found.to_json()),
        false => output::print(&found.text()),
    }
    Ok(0)
}

//! `dmci prompt`: what a search tells a language model.

use crate::args::Prompt;
use crate::output;
use crate::search;
use dmci::Report;
use dmci_driver::talk;
use dmci_search::prompt::{Briefing, Context, VERSION};

/// Shows what a model is told.
pub fn prompt(args: &Prompt) -> u8 {
    match text(args) {
        Ok(text) => {
            output::print_line(text.trim_end());
            0
        }
        Err(report) => output::fail(&report, false),
    }
}

fn text(args: &Prompt) -> Result<String, Report> {
    let described = args.rows.data.is_some();
    let briefing = match described {
        true => talk::briefing(args.about.as_deref(), args.anonymous, &search::workshop(&args.rows)?),
        false => Briefing::default(),
    };
    let question = || briefing.round(&Context::default());
    Ok(match args.part.as_deref() {
        None if described => format!("# system\n\n{}\n# user\n\n{}", briefing.system(), question()),
        None | Some("card") => briefing.card(),
        Some("system") => briefing.system(),
        Some("question") => question(),
        Some("grammar") => briefing.gbnf(args.depth.into()),
        Some("schema") => format!("{:#}", briefing.json_schema()),
        _ => VERSION.to_string(),
    })
}

//! The `dmci` command.

mod args;
mod ask;
mod check;
mod compare;
mod compile;
mod completions;
mod data;
mod emit;
mod eval;
mod explain;
mod files;
mod fit;
mod forecast;
mod grad;
mod info;
mod mcp;
mod memory;
mod options;
mod output;
mod predict;
mod prompt;
mod quantity;
mod repl;
mod repro;
mod run;
#[cfg(feature = "sample")]
mod sample;
mod search;
mod source;
mod tape;
mod waiting;

use args::{Args, Command};
use clap::{CommandFactory, FromArgMatches};
use std::process::ExitCode;

/// The command line. A negative number behind an option is its value: what is wrong with it is for the option to say.
fn parse() -> Result<Args, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The commands and their options, with defaults in the help.
fn command() -> clap::Command {
    let number = |arg: clap::Arg| match arg.get_action().takes_values() && !arg.is_positional() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    let mut defaults = dmci_fit::FitRequest::defaults();
    defaults.extend(dmci_fit::PredictSettings::defaults());
    defaults.extend(dmci_fit::ForecastSettings::defaults());
    let is_setting =
        |arg: &clap::Arg| arg.get_value_names().is_none_or(|names| names != ["COLUMN"] || arg.get_id() != "time");
    let shown = |arg: clap::Arg| match (arg.get_help(), defaults.get(arg.get_id().as_str())) {
        // Some options share a name with a setting of a fit and mean something else, or say their default themselves.
        (Some(help), Some(default)) if is_setting(&arg) && !help.to_string().contains("[default:") => {
            let help = format!("{help} [default: {default}]");
            arg.help(help)
        }
        _ => arg,
    };
    // In a forecast, --time is the column of times.
    let limit = |arg: clap::Arg| arg.long("timeout");
    Args::command()
        .mut_subcommand("forecast", |command| command.mut_arg("time", limit))
        .mut_subcommands(|command| command.mut_args(number).mut_args(shown))
}

/// Runs a command that shows nothing until it is done.
fn waiting(command: impl FnOnce() -> u8) -> u8 {
    waiting::start();
    let code = command();
    waiting::clear();
    code
}

/// Limits the memory of a command. Those that serve others go on where these fail.
fn begin(command: Command) -> Command {
    if !matches!(command, Command::Mcp(_) | Command::Repl(_)) {
        memory::limit_command();
    }
    command
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
        output::complain(&format!(
            "internal error: {message}{place}; please report it with the program that caused it"
        ));
        std::process::exit(70);
    }));
    let code = match parse() {
        Ok(args) => match begin(args.command) {
            Command::Prompt(args) => prompt::prompt(&args),
            Command::Completions(args) => completions::completions(&args, command()),
            Command::Man(args) => completions::man(&args, command()),
            Command::Mcp(args) => mcp::mcp(&args),
            Command::Run(args) => waiting(|| run::run(&args)),
            Command::Data(args) => waiting(|| data::data(&args)),
            Command::Repl(args) => repl::repl(&args),
            Command::Grad(args) => waiting(|| grad::grad(&args)),
            Command::Eval(args) => waiting(|| eval::eval(&args)),
            Command::Fit(args) => fit::fit(&args),
            Command::Predict(args) => waiting(|| predict::predict(&args)),
            Command::Compare(args) => compare::compare(&args),
            Command::Forecast(args) => forecast::forecast(&args),
            #[cfg(feature = "sample")]
            Command::Sample(args) => sample::sample(&args),
            #[cfg(not(feature = "sample"))]
            Command::Sample(args) => output::without_sampler(args.json),
            Command::Search(args) => search::search(&args),
            Command::Score(args) => search::score(&args),
            Command::Same(args) => waiting(|| search::same::same(&args)),
            Command::Emit(args) => waiting(|| emit::emit(&args)),
            Command::Repro(args) => repro::repro(&args),
            Command::Tape(args) => waiting(|| tape::tape(&args)),
            Command::Check(args) => check::check(&args),
            Command::Compile(args) => compile::compile(&args),
            Command::Info(args) => info::info(&args),
            Command::Explain(args) => explain::explain(&args),
        },
        Err(error) => output::usage(&error),
    };
    ExitCode::from(output::arrived(code))
}

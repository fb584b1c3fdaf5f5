//! The `dmci` command.

mod args;
mod check;
mod compile;
mod emit;
mod eval;
mod explain;
mod files;
mod fit;
mod grad;
mod info;
mod mcp;
mod options;
mod output;
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
    let number = |arg: clap::Arg| match arg.get_action().takes_values() && !arg.is_positional() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    let defaults = dmci_fit::FitRequest::defaults();
    let shown = |arg: clap::Arg| match (arg.get_help(), defaults.get(arg.get_id().as_str())) {
        (Some(help), Some(default)) => {
            let help = format!("{help} [default: {default}]");
            arg.help(help)
        }
        _ => arg,
    };
    let mut command = Args::command().mut_subcommands(|command| command.mut_args(number).mut_args(shown));
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Runs a command that shows nothing until it is done.
fn waiting(command: impl FnOnce() -> u8) -> u8 {
    waiting::start();
    let code = command();
    waiting::clear();
    code
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
        Ok(args) => match args.command {
            Command::Prompt(args) => prompt::prompt(&args),
            Command::Mcp(args) => mcp::mcp(&args),
            Command::Run(args) => waiting(|| run::run(&args)),
            Command::Repl(args) => repl::repl(&args),
            Command::Grad(args) => waiting(|| grad::grad(&args)),
            Command::Eval(args) => waiting(|| eval::eval(&args)),
            Command::Fit(args) => fit::fit(&args),
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

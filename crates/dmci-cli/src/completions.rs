//! `dmci completions` and `dmci man`: what shells and manuals know of the command line.

use crate::args::completions::{Completions, Man};
use crate::output;
use clap::Command;

/// Prints completions for a shell.
pub fn completions(args: &Completions, mut command: Command) -> u8 {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "dmci", &mut text);
    output::print(&String::from_utf8_lossy(&text));
    0
}

/// Prints a manual page.
pub fn man(args: &Man, mut command: Command) -> u8 {
    command.build();
    let page = match &args.command {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let known = command.get_subcommands().map(Command::get_name);
                let help = dmci::nearest(name, known)
                    .map_or("dmci --help lists the commands".to_string(), |near| format!("did you mean {near}?"));
                return output::fail(&output::usage_error(format!("there is no command {name}"), help), false);
            }
        },
    };
    let mut text = Vec::new();
    if let Err(error) = clap_mangen::Man::new(page).render(&mut text) {
        return output::fail(&output::usage_error(format!("the page cannot be written: {error}"), "report it"), false);
    }
    output::print(&String::from_utf8_lossy(&text));
    0
}

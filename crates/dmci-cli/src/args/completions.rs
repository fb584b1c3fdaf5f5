//! The options of `completions` and `man`.

use clap::Args as ClapArgs;
use clap_complete::Shell;

/// Where completions go.
pub const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  dmci completions bash > ~/.local/share/bash-completion/completions/dmci
  dmci completions zsh > ~/.zfunc/_dmci
  dmci completions fish > ~/.config/fish/completions/dmci.fish";

/// Arguments of `completions`.
#[derive(ClapArgs, Debug)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// Where manual pages go.
pub const MAN_EXAMPLES: &str = "\
Examples:
  dmci man > ~/.local/share/man/man1/dmci.1
  dmci man fit > ~/.local/share/man/man1/dmci-fit.1";

/// Arguments of `man`.
#[derive(ClapArgs, Debug)]
pub struct Man {
    /// A command; without, the page of dmci itself
    pub command: Option<String>,
}

//! The library's own tests, written in the language.

mod common;

use common::{MODES, options, run_with};

#[test]
fn the_library_passes_its_own_tests() {
    let text = include_str!("../scheme/lib/tests.scm");
    for mode in &MODES {
        let outcome = run_with(text, &options(mode)).unwrap_or_else(|failure| panic!("{mode}: {failure}"));
        assert_eq!(outcome.text, "()", "failed checks in {mode}");
    }
}

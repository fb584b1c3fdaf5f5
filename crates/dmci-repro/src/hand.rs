//! What somebody would write by hand without this system: a tape of numbers, an interpreter that walks trees,
//! and the models of experiments B and C as plain functions. It shares no code with the engine but the
//! elementary functions.

pub mod interpreter;
pub mod models;
pub mod tape;

//! Language models as proposers: who answers, what that costs, what was answered, and the programs in an answer.
//!
//! **Invariant:** this is the only crate that opens connections outwards, and it knows neither searches nor fits. A
//! provider turns messages into an answer; [`client::Client`] adds recorded answers, a budget, a rate limit and retries.
//! Keys are in [`secret::Secret`] alone and leave it only as a header.

pub mod answer;
pub mod client;
pub mod command;
pub mod error;
pub mod folder;
pub mod http;
pub mod ledger;
pub mod message;
pub mod record;
pub mod replay;
pub mod retry;
pub mod secret;

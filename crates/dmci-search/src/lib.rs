//! Search over programs: candidates, funnel, fits, proposers, islands and judgement.
//!
//! **Invariant:** nothing here touches files, the terminal, threads or the clock; decisions depend on counted work, and
//! random numbers on (seed, island, step, slot), so a search that is told the same results makes the same moves.

pub mod archive;
pub mod candidate;
pub mod columns;
pub mod data;
pub mod decomposition;
pub mod dictionary;
pub mod enumeration;
pub mod expr;
pub mod fill;
pub mod forms;
pub mod funnel;
pub mod general;
pub mod grammar;
pub mod grouped;
pub mod groups;
pub mod judge;
pub mod least_squares;
pub mod lower;
pub mod mathml;
pub mod monomial;
pub mod normal;
pub mod ode;
pub mod operation;
pub mod problem;
pub mod prompt;
pub mod same;
pub mod saturation;
pub mod score;
pub mod search;
pub mod separable;
pub mod steps;
pub mod template;
pub mod uncertainty;
pub mod units;
pub mod worker;

//! Programs made from seeds.
//!
//! [`language`] makes whole programs that use every corner of the language, for tests; [`models`] makes models as people
//! write them. [`grammar`] says which operations an expression may consist of, with the types of their operands; [`grow`] makes expressions of a
//! [`Grammar`], [`mutate`] changes them and [`parameters`] changes what is fitted in them. All of them work on the
//! program as it is written ([`sexp::Sexp`]), and take their decisions from a source of randomness that the caller
//! owns: the same source gives the same program.
//!
//! ```
//! use dmci_generate::{Grammar, Scope, Type, grow::Uniform, mutate, random::Random};
//!
//! let grammar = Grammar::arithmetic(&["+", "*", "exp"], &["x"])?;
//! let mut random = Random::new(7);
//! let tree = dmci_generate::grow::grow(&grammar, &Type::Real, 4, &mut Uniform::new(&grammar, &mut random))
//!     .expect("reals have variables");
//! let other = mutate::subtree(&grammar, &tree, &Type::Real, 3, &mut random).expect("a tree has a root");
//! assert!([&tree, &other].iter().all(|t| grammar.gives(t, &Type::Real, &Scope::default())));
//! # Ok::<(), dmci_generate::grammar::Unknown>(())
//! ```

pub mod expression;
pub mod grammar;
pub mod grow;
pub mod language;
pub mod models;
pub mod mutate;
pub mod parameters;
pub mod random;
pub mod sexp;
pub mod sites;
mod types;

pub use grammar::{Grammar, Operation, Scope};
pub use types::Type;

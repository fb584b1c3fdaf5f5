//! Data: values on a garbage-collected heap, exact and inexact numbers, symbols, spans, diagnostics.
//!
//! **Invariant:** nothing here knows what a program means; there is no evaluation in this crate.

pub mod codes;
pub mod condition;
pub mod diagnostic;
pub mod heap;
pub mod nearest;
pub mod num;
pub mod span;
pub mod spelling;
pub mod symbol;
pub mod value;

pub use codes::ErrorCode;
pub use condition::Place;
pub use diagnostic::{Diagnostic, Error, Fault, Label, Severity};
pub use dmci_limits::Alarm;
pub use dmci_ops::Shape;
pub use heap::{Heap, HeapImage, Kind, Store};
pub use span::{LineCol, Origin, PairSpan, Source, SourceId, Sources, Span, SpanId, SpanTable};
pub use spelling::Spelling;
pub use symbol::{Symbol, Symbols};
pub use value::{FIXNUM_MAX, FIXNUM_MIN, Ref, Value};

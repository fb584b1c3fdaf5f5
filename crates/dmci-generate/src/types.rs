//! Types of expressions, as far as making programs needs them.

/// What an expression gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An exact integer.
    Int,
    /// A real number.
    Real,
    /// A truth value.
    Bool,
    /// A character.
    Char,
    /// A string.
    Str,
    /// A symbol.
    Sym,
    /// A list of exact integers.
    Ints,
    /// A list of reals.
    Reals,
    /// A mutable vector of exact integers that is never empty.
    Vector,
    /// A hash table from small integers to integers.
    Table,
    /// A record with two fields, an integer and a list of integers.
    Record(usize),
    /// A procedure: the types of its parameters and of its result.
    Fun(Vec<Type>, Box<Type>),
}

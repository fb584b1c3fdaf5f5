//! The operations that candidates are made of: one row each.

use dmci_ops::Op;
use serde::{Deserialize, Serialize};

macro_rules! operations {
    ($($variant:ident $name:literal $arity:literal $commutes:literal;)*) => {
        /// An operation of the language on reals.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum Operation { $($variant,)* }

        impl Operation {
            /// All of them.
            pub const ALL: &'static [Operation] = &[$(Operation::$variant,)*];

            /// Its name in programs.
            pub fn name(self) -> &'static str {
                match self { $(Operation::$variant => $name,)* }
            }

            /// How many operands it takes.
            pub fn arity(self) -> usize {
                match self { $(Operation::$variant => $arity,)* }
            }

            /// Whether its two operands may be exchanged.
            pub fn commutes(self) -> bool {
                match self { $(Operation::$variant => $commutes,)* }
            }
        }
    };
}

operations! {
    Add "+" 2 true;
    Sub "-" 2 false;
    Mul "*" 2 true;
    Div "/" 2 false;
    Neg "-" 1 false;
    Min "min" 2 true;
    Max "max" 2 true;
    Pow "expt" 2 false;
    Square "square" 1 false;
    Cube "cube" 1 false;
    Sqrt "sqrt" 1 false;
    Cbrt "cbrt" 1 false;
    Exp "exp" 1 false;
    Log "log" 1 false;
    Sin "sin" 1 false;
    Cos "cos" 1 false;
    Tan "tan" 1 false;
    Asin "asin" 1 false;
    Acos "acos" 1 false;
    Atan "atan" 1 false;
    Sinh "sinh" 1 false;
    Cosh "cosh" 1 false;
    Tanh "tanh" 1 false;
    Abs "abs" 1 false;
    Sigmoid "sigmoid" 1 false;
    Softplus "softplus" 1 false;
    Erf "erf" 1 false;
    Log1p "log1p" 1 false;
    Expm1 "expm1" 1 false;
}

/// The operations of a search if the user names none.
pub const DEFAULT: &str = "+ - * / sqrt exp log sin cos expt";

impl Operation {
    /// The operation of this name and number of operands.
    pub fn find(name: &str, operands: usize) -> Option<Operation> {
        let name = if name == "pow" { "expt" } else { name };
        Operation::ALL.iter().copied().find(|o| o.name() == name && o.arity() == operands)
    }

    /// Whether it takes more than two operands, from the left.
    pub fn folds(self) -> bool {
        use Operation::{Add, Div, Max, Min, Mul, Sub};
        matches!(self, Add | Sub | Mul | Div | Min | Max)
    }

    /// The operation of the tape, where it is a single one.
    pub fn op(self) -> Option<Op> {
        Some(match self {
            Operation::Add => Op::Add,
            Operation::Sub => Op::Sub,
            Operation::Mul => Op::Mul,
            Operation::Div => Op::Div,
            Operation::Neg => Op::Neg,
            Operation::Min => Op::Min,
            Operation::Max => Op::Max,
            Operation::Pow => Op::Pow,
            Operation::Sqrt => Op::Sqrt,
            Operation::Cbrt => Op::Cbrt,
            Operation::Exp => Op::Exp,
            Operation::Log => Op::Log,
            Operation::Sin => Op::Sin,
            Operation::Cos => Op::Cos,
            Operation::Tan => Op::Tan,
            Operation::Asin => Op::Asin,
            Operation::Acos => Op::Acos,
            Operation::Atan => Op::Atan,
            Operation::Sinh => Op::Sinh,
            Operation::Cosh => Op::Cosh,
            Operation::Tanh => Op::Tanh,
            Operation::Abs => Op::Abs,
            Operation::Sigmoid => Op::Sigmoid,
            Operation::Softplus => Op::Softplus,
            Operation::Erf => Op::Erf,
            Operation::Log1p => Op::Log1p,
            Operation::Expm1 => Op::Expm1,
            Operation::Square | Operation::Cube => return None,
        })
    }
}

/// The operations that a search may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// In the order of [`Operation::ALL`].
    pub list: Vec<Operation>,
}

impl Default for Operations {
    fn default() -> Self {
        Operations::parse(DEFAULT).expect("the default names operations")
    }
}

impl Operations {
    /// Reads names with spaces or commas between them. A name stands for all its numbers of operands; a product brings
    /// `square` and `cube` along, which are products. The error names what is not an operation.
    pub fn parse(text: &str) -> Result<Operations, String> {
        let mut list = Vec::new();
        for name in text.split([' ', ',', '\t', '\n']).filter(|n| !n.is_empty()) {
            let wanted = if name == "pow" { "expt" } else { name };
            let found: Vec<Operation> = Operation::ALL.iter().copied().filter(|o| o.name() == wanted).collect();
            if found.is_empty() {
                let known: Vec<&str> =
                    Operation::ALL.iter().filter(|o| **o != Operation::Neg).map(|o| o.name()).collect();
                return Err(format!("{name} is not an operation of a search; there are {}", known.join(" ")));
            }
            list.extend(found);
        }
        if list.contains(&Operation::Mul) {
            list.extend([Operation::Square, Operation::Cube]);
        }
        list.sort_unstable();
        list.dedup();
        if list.is_empty() { Err("a search needs at least one operation".into()) } else { Ok(Operations { list }) }
    }

    /// Whether an operation is allowed.
    pub fn allows(&self, operation: Operation) -> bool {
        self.list.contains(&operation)
    }

    /// The allowed operations of so many operands.
    pub fn of_arity(&self, arity: usize) -> impl Iterator<Item = Operation> + '_ {
        self.list.iter().copied().filter(move |o| o.arity() == arity)
    }
}

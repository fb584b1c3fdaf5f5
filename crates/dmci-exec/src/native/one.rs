//! One lane alone, with as little around its code as possible.

use super::compile::Part;
use super::run::{FEW, NativeSpace};
use crate::block::{STAYED, WORKSPACE};
use crate::plan::Plan;
use crate::target::Target;

/// Lanes that the code for few lanes works on together.
const GROUP: usize = 4;

impl Plan {
    /// Runs one lane with these numbers for its leaves and gives its results to the target. `None`, and nothing done,
    /// if there is no code that does everything; false if it leaves the path.
    pub(crate) fn run_one(&self, numbers: impl ExactSizeIterator<Item = f64>, target: &mut Target<'_>) -> Option<bool> {
        let code = self.native.few.get()?.as_deref()?;
        let &[Part::Code(at)] = &code.parts[..] else { return None };
        if numbers.len() != self.leaves || code.step != GROUP {
            return None;
        }
        WORKSPACE.with_borrow_mut(|workspace| {
            let NativeSpace { rows, spills, failed: marks, .. } = &mut workspace.native;
            let rows = rows.ensure(code.rows * FEW);
            let spills = spills.ensure(code.spill_bytes.div_ceil(8));
            if marks.len() < FEW {
                marks.resize(FEW, STAYED);
            }
            // Lanes that nobody asked for do what this one does.
            let leaves = rows[code.leaf_rows * FEW..].chunks_exact_mut(FEW);
            leaves.zip(numbers).for_each(|(row, x)| row[..GROUP].fill(x.to_bits()));
            marks[..GROUP].fill(STAYED);
            code.call(at, rows, (0, GROUP), marks, spills);
            if marks[0] != STAYED {
                return Some(false);
            }
            target.put_one(&rows[code.output_rows * FEW..], FEW);
            Some(true)
        })
    }
}

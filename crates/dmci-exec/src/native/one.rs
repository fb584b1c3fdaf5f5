//! One lane alone, with as little around its code as possible.

use super::compile::Part;
use super::run::{FEW, NativeSpace};
use crate::block::{STAYED, WORKSPACE};
use crate::number::Number;
use crate::plan::Plan;
use crate::target::Target;

impl Plan {
    /// Runs one lane with these numbers for its leaves and gives its results to the target. `None`, and nothing done,
    /// if there is no code that does everything; false if it leaves the path.
    #[inline]
    pub(crate) fn run_one<N: Number>(
        &self,
        numbers: impl ExactSizeIterator<Item = f64>,
        target: &mut Target<'_, N>,
    ) -> Option<bool> {
        let code = self.native.few.get()?.as_deref()?;
        let &[Part::Code(at)] = &code.parts[..] else { return None };
        if numbers.len() != self.leaves || code.step > FEW {
            return None;
        }
        WORKSPACE.with_borrow_mut(|workspace| {
            let NativeSpace { rows, spills, failed: marks, remembered, .. } = &mut workspace.native;
            let rows = rows.ensure(code.rows * FEW);
            let spills = spills.ensure(code.spill_bytes.div_ceil(8));
            code.remember(spills, remembered);
            if marks.len() < FEW {
                marks.resize(FEW, STAYED);
            }
            // Lanes that nobody asked for do what this one does.
            let (leaves, _) = rows[code.leaf_rows * FEW..].as_chunks_mut::<FEW>();
            let leaves = leaves.iter_mut().zip(numbers);
            if code.step == FEW {
                leaves.for_each(|(row, x)| row.fill(x.to_bits()));
            } else {
                leaves.for_each(|(row, x)| row[..FEW / 2].fill(x.to_bits()));
            }
            marks[..FEW].fill(STAYED);
            code.call(at, rows, (0, code.step), marks, spills);
            if marks[0] != STAYED {
                return Some(false);
            }
            target.put_one(&rows[code.output_rows * FEW..], FEW);
            Some(true)
        })
    }
}

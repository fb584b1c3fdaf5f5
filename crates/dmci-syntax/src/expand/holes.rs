//! `(hole NAME (VARIABLE ...) CONTENT)`: a place that a search over programs may fill in another way. Its value is that
//! of CONTENT; the variables are those that other contents may mention.

use super::expander::Expander;
use dmci_value::{Error, Value};

impl Expander<'_> {
    /// The content, expanded where it stands.
    pub fn hole_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, cell) = self.operands_of(form, 3, 3)?;
        let Some((_, after_name)) = self.heap.uncons(cell).filter(|(name, _)| name.is_symbol()) else {
            return Err(self.wrong_part(form, "a name", cell));
        };
        let Some((variables, content)) = self.heap.uncons(after_name) else { return Err(self.wrong_shape(form)) };
        let Some(listed) = self.heap.list_items(variables) else {
            return Err(self.wrong_part(form, "a list of variables", after_name));
        };
        if listed.iter().any(|v| !v.is_symbol()) {
            return Err(self.wrong_part(form, "a list of variables", after_name));
        }
        Ok(self.expand_car(content, tail))
    }
}

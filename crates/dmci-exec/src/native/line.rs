//! Straight lines of steps as instructions.

use super::division::Ways;
use super::ir::{Action, Builder, NONE, Value};
use super::lists::{Layout, Spot};
use super::lower::{Form, Formed};
use super::vex::{Isa, Numbers};
use crate::loops::{Steady, ends};
use crate::plan::{Slot, Step};
use dmci_ops::Op;
use dmci_ops::arith::Arith;
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps on their way to instructions.
pub(super) struct Lowering<'a> {
    pub(super) builder: Builder,
    /// What is in each slot, and which straight line knows it.
    values: Vec<(u32, Formed)>,
    line: u32,
    exported: Vec<bool>,
    /// In a round of a loop under way, rows that have reals; what is not a number need not have the bits of any
    /// operation there.
    reals: Option<&'a FxHashSet<Slot>>,
    /// Results go to rows as soon as they are there, and rows are used again.
    rows_change: bool,
    /// What a round ends with must not be in a row already: there are none but those of states.
    rows_are_few: bool,
    leaf_rows: u32,
    output_rows: u32,
    /// Where leaves and results are, if not in rows.
    layout: Option<&'a Layout>,
    /// Leaves in lists that nothing has read yet, by slot, and whether they are reals.
    waiting: Vec<Option<(Spot, bool)>>,
    /// Pairs that were loaded, by list, place and lane.
    pairs: FxHashMap<(u8, u32, u8), [Value; 2]>,
    /// Short lists that were loaded, by list and lane.
    columns: FxHashMap<(u8, u8), Vec<Value>>,
    /// Results that go to lists.
    results: Vec<Formed>,
}

impl<'a> Lowering<'a> {
    pub fn new(
        slots: usize,
        exported: Vec<bool>,
        [leaf_rows, output_rows]: [usize; 2],
        layout: Option<&'a Layout>,
        (isa, ways, numbers): (Isa, Ways, Numbers),
    ) -> Self {
        let lists = layout.map_or(Numbers::Double, |layout| layout.numbers);
        Lowering {
            builder: Builder::new(isa, ways, numbers, lists),
            values: vec![(0, Formed::new(NONE, Form::Bits)); slots],
            line: 1,
            rows_change: exported.contains(&true),
            rows_are_few: false,
            exported,
            reals: None,
            leaf_rows: leaf_rows as u32,
            output_rows: output_rows as u32,
            layout,
            waiting: vec![None; if layout.is_some() { slots } else { 0 }],
            pairs: FxHashMap::default(),
            columns: FxHashMap::default(),
            results: Vec::new(),
        }
    }

    /// What is in registers does not outlive a function.
    pub fn next_line(&mut self) {
        self.line += 1;
        self.builder.forget();
    }

    /// A round of a loop under way, as a line of its own.
    pub fn round(&mut self, steady: &'a Steady) {
        self.next_line();
        self.steady(steady);
    }

    /// What comes next is a loop under way, of which some steps must be in their rows.
    pub(super) fn begin_steady(&mut self, exported: Vec<bool>, steady: &'a Steady) {
        self.exported = exported;
        self.reals = Some(&steady.reals);
        self.rows_change = false;
    }

    /// What is in a slot of a loop is in a row outside of it.
    pub(super) fn put_outside(&mut self, slot: Slot, row: u32) {
        let form = self.form_in_row(slot);
        self.values[slot as usize] = (self.line, Formed::new(self.builder.row(row), form));
    }

    /// The same in the line that there is.
    pub(super) fn steady(&mut self, steady: &'a Steady) {
        self.begin_steady(ends(&steady.steps, &steady.next), steady);
        steady.steps.iter().enumerate().for_each(|(i, step)| self.step(i, step));
        self.builder.real(f64::NAN);
    }

    /// Steps of a round whose slots are known, among others; what it ends with goes to rows of these slots.
    pub(super) fn round_in_place(&mut self, steps: &[Step], next: &[(Slot, Slot)], reals: &'a FxHashSet<Slot>) {
        self.exported = ends(steps, next);
        (self.reals, self.rows_are_few) = (Some(reals), true);
        steps.iter().enumerate().for_each(|(i, step)| self.step(i, step));
        (self.reals, self.rows_are_few) = (None, false);
        self.exported.clear();
    }

    /// What is in a slot is known.
    pub(super) fn put(&mut self, slot: Slot, x: Formed) {
        if let Some(waiting) = self.waiting.get_mut(slot as usize) {
            *waiting = None;
        }
        self.values[slot as usize] = (self.line, x);
    }

    /// Loads a leaf from its list.
    fn load(&mut self, layout: &Layout, spot: Spot) -> Value {
        if self.comes_in_halves() {
            self.builder.packed = false;
            let halves = self.halves().map(|lane| self.load_numbers(layout, spot, lane));
            self.builder.packed = true;
            return self.builder.narrowed(halves);
        }
        self.load_numbers(layout, spot, 0)
    }

    /// Whether vectors are of single precision, but lists are not.
    fn comes_in_halves(&self) -> bool {
        self.builder.packed && self.builder.lists == Numbers::Double
    }

    /// The first lanes of the halves of a vector of single precision.
    fn halves(&self) -> [u8; 2] {
        [0, self.builder.isa.lanes() as u8]
    }

    /// Loads a leaf for a vector of what lists hold, from one lane of the group on.
    fn load_numbers(&mut self, layout: &Layout, Spot { list, at }: Spot, lane: u8) -> Value {
        let stride = layout.strides[list as usize];
        if stride == 1 {
            return self.builder.push(Action::Load { list, lane }, &[]);
        }
        let builder = &mut self.builder;
        if builder.has_columns(stride) {
            let columns = self.columns.entry((list, lane));
            return columns.or_insert_with(|| builder.load_columns(list, stride as usize, lane))[at as usize];
        }
        let first = (at & !1).min(stride - 2);
        let [a, b] = *self.pairs.entry((list, first, lane)).or_insert_with(|| {
            [lane, lane + 1].map(|lane| builder.push(Action::LoadPairs { list, at: first, lane }, &[]))
        });
        if at == first { self.builder.firsts(a, b) } else { self.builder.seconds(a, b) }
    }

    /// A leaf that is in a row.
    fn row(&mut self, row: u32) -> Value {
        if self.builder.packed {
            let halves = self.halves().map(|lane| self.builder.push(Action::LoadRow { row, lane }, &[]));
            return self.builder.narrowed(halves);
        }
        self.builder.row(row)
    }

    /// Stores all results in their lists.
    pub fn store_results(&mut self) {
        let Some(layout) = self.layout else { return };
        let results = std::mem::take(&mut self.results);
        let sum = self.sum_of_reals(&results);
        let in_halves = self.comes_in_halves();
        let exact = |x: &Formed| {
            let value = match sum {
                Some(_) => self.builder.upright(*x).value,
                None => self.builder.exact_bits(*x),
            };
            if in_halves { self.builder.widened(value) } else { [value, NONE] }
        };
        let mut results = results.iter().map(exact).collect::<Vec<_>>().into_iter();
        let numbers = self.builder.numbers();
        let packed = std::mem::take(&mut self.builder.packed);
        for (list, &stride) in layout.strides.iter().enumerate().skip(layout.sources) {
            let list = list as u8;
            let values: Vec<[Value; 2]> = results.by_ref().take(stride as usize).collect();
            for (half, from) in self.halves().into_iter().enumerate().take(1 + in_halves as usize) {
                let values: Vec<Value> = values.iter().map(|v| v[half]).collect();
                if let [one] = values[..] {
                    self.builder.effect(Action::StoreList { list, lane: from }, &[one], NONE);
                    continue;
                }
                if self.builder.has_columns(stride) {
                    self.builder.store_columns(list, &values, from);
                    continue;
                }
                for at in (0..values.len()).step_by(2) {
                    let at = at.min(values.len() - 2);
                    let pair = [values[at], values[at + 1]];
                    let halves = [self.builder.firsts(pair[0], pair[1]), self.builder.seconds(pair[0], pair[1])];
                    for (half, lane) in halves.into_iter().zip(from..) {
                        self.builder.effect(Action::StorePairs { list, at: at as u32, lane }, &[half], NONE);
                    }
                }
            }
        }
        if let Some(sum) = sum {
            self.builder.effect(Action::Canonical { first: layout.sources as u8, numbers }, &[sum], NONE);
        }
        self.builder.packed = packed;
    }

    /// The sum of all results that may be something else than a number, if all results are reals: it is not a number if
    /// one of them is not, and hardly ever otherwise.
    fn sum_of_reals(&mut self, results: &[Formed]) -> Option<Value> {
        let is_number = |x: &Formed| self.builder.constant(x.value).is_some_and(|x| !x.is_nan());
        let reals: Vec<Formed> = results.iter().filter(|x| !is_number(x)).copied().collect();
        let is_real = |x: &Formed| matches!(x.form, Form::Real | Form::Negated);
        if self.builder.isa == Isa::Avx2 || !reals.iter().all(is_real) {
            return None;
        }
        let (first, others) = reals.split_first()?;
        let (second, others) = others.split_first().unwrap_or((first, &[]));
        let sum = self.builder.add(first.value, second.value);
        Some(others.iter().fold(sum, |sum, x| self.builder.add(sum, x.value)))
    }

    pub(super) fn get(&mut self, slot: Slot) -> Formed {
        if let Some(layout) = self.layout
            && let Some((spot, real)) = self.waiting[slot as usize].take()
        {
            let value = self.load(layout, spot);
            self.values[slot as usize] = (self.line, self.leaf(value, real));
        }
        if self.values[slot as usize].0 != self.line {
            let form = self.form_in_row(slot);
            self.values[slot as usize] = (self.line, Formed::new(self.builder.row(slot), form));
        }
        self.values[slot as usize].1
    }

    /// The form of what is in the row of a slot.
    fn form_in_row(&self, slot: Slot) -> Form {
        if self.reals.is_some_and(|reals| reals.contains(&slot)) { Form::Real } else { Form::Bits }
    }

    fn leaf(&mut self, value: Value, real: bool) -> Formed {
        let leaf = Formed::new(value, if real { Form::Real } else { Form::Bits });
        if real && self.builder.short { self.builder.rounded_number(leaf) } else { leaf }
    }

    fn set(&mut self, step: usize, slot: Slot, mut x: Formed) {
        if self.rows_change && self.builder.row_of(x.value).is_some_and(|row| row < self.leaf_rows) {
            // Another name for what is in the row of a slot, which something else may be put into.
            x.value = self.builder.copied(x.value);
        }
        self.put(slot, x);
        if self.exported.get(step) == Some(&true) {
            let real = self.reals.is_some() && matches!(x.form, Form::Real | Form::Negated);
            let mut bits = if real { self.builder.upright_on_all(x).value } else { self.builder.exact_bits(x) };
            if self.rows_are_few && self.builder.row_of(bits).is_some() {
                bits = self.builder.copied(bits);
            }
            self.builder.effect(Action::Store { row: slot }, &[bits], NONE);
        }
    }

    pub fn step(&mut self, i: usize, step: &Step) {
        match *step {
            Step::Leaf { d, first, count, real } => {
                for e in 0..count {
                    if let Some(spot) = self.layout.and_then(|l| l.spots[(first + e) as usize]) {
                        self.waiting[(d + e) as usize] = Some((spot, real));
                        continue;
                    }
                    let value = self.row(self.leaf_rows + first + e);
                    let leaf = self.leaf(value, real);
                    self.set(i, d + e, leaf);
                }
            }
            Step::Constant { d, bits } if self.builder.packed => {
                let value = self.builder.real(f64::from_bits(bits));
                self.set(i, d, Formed::new(value, Form::Real));
            }
            Step::Constant { d, bits } => {
                let value = self.builder.bits(bits);
                self.set(i, d, Formed::new(value, Form::Bits));
            }
            Step::Op { op, d, args } => {
                let n = op.operands().len();
                let mut operands = [Formed::new(NONE, Form::Bits); 3];
                operands.iter_mut().zip(&args[..n]).for_each(|(operand, &slot)| *operand = self.get(slot));
                let opposites = op == Op::Select && self.builder.selects_opposites(operands);
                if !opposites && !Builder::takes_signs(op) {
                    for (operand, &slot) in operands.iter_mut().zip(&args[..n]) {
                        if operand.form == Form::Negated {
                            *operand = self.builder.upright(*operand);
                            self.values[slot as usize] = (self.line, *operand);
                        }
                    }
                }
                let result = self.builder.operation(op, operands);
                self.set(i, d, result);
            }
            Step::Guard { test, outcome, index } => {
                let test = self.get(test);
                let mask = self.builder.mask(test);
                self.builder.effect(Action::Guard { outcome, index }, &[mask], NONE);
            }
            Step::Output { s, index, count } => {
                for e in 0..count {
                    let x = self.get(s + e);
                    let row = self.output_rows + index + e;
                    if self.layout.is_some() {
                        let x = self.builder.lengthened(x);
                        self.results.push(x);
                        continue;
                    }
                    if self.builder.packed {
                        let halves = self.builder.exact_halves(x);
                        for (half, lane) in halves.into_iter().zip(self.halves()) {
                            self.builder.effect(Action::StoreRow { row, lane }, &[half], NONE);
                        }
                        continue;
                    }
                    let bits = self.builder.exact_bits(x);
                    self.builder.effect(Action::Store { row }, &[bits], NONE);
                }
            }
            Step::Move { d, s, count } => {
                for e in 0..count {
                    let x = self.get(s + e);
                    self.set(i, d + e, x);
                }
            }
            Step::Tensor(_) | Step::Loop(_) => {}
        }
    }
}

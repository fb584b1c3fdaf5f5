//! What `soft-choice` and `with-derivative` in the library are built on: operations that no ordinary
//! procedure makes, and the settings of an evaluation that choices depend on.
//!
//! Temperature and noise are arguments of the evaluation, not numbers of the program: on a tape that
//! the caller wants they are leaves behind those of parameters and inputs, first the temperature, then
//! the noise in order of drawing. So one tape serves every temperature, seed, restart and row.

use crate::prims::{Primitive, fixed};
use crate::world::World;
use dmci_ops::{Op, real};
use dmci_tape::{LeafKind, NodeId};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Value, num};

/// How `soft-choice` chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftChoice {
    /// Logits are divided by it: small ones make choices sharp.
    pub temperature: f64,
    /// The value is that of the likeliest option, the derivative that of the soft choice.
    pub hard: bool,
    /// Noise is added to the logits, so that options are drawn with their probabilities.
    pub gumbel: bool,
}

impl Default for SoftChoice {
    fn default() -> Self {
        SoftChoice { temperature: 1.0, hard: false, gumbel: false }
    }
}

/// Soft choices in one evaluation: the settings, and where noise comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    settings: SoftChoice,
    /// Seed of the noise.
    seed: u64,
    /// Which parameter set is evaluated.
    restart: u64,
    /// Which row of the data.
    row: u64,
    /// Numbers drawn so far.
    drawn: u64,
    /// The temperature's node on a tape that the caller wants.
    temperature_node: Option<NodeId>,
}

impl Choices {
    /// At the start of an evaluation: of parameter set 0 on row 0 unless said otherwise.
    pub fn new(settings: SoftChoice, seed: u64) -> Choices {
        Choices { settings, seed, ..Choices::default() }
    }

    /// The same for another parameter set and row.
    pub fn at(self, restart: u64, row: u64) -> Choices {
        Choices { restart, row, ..self }
    }

    /// The value of a leaf behind those of parameters and inputs, by its number among them.
    pub fn leaf(&self, number: usize) -> f64 {
        match number.checked_sub(1) {
            None => self.settings.temperature,
            Some(draw) => gumbel(self.seed, self.restart, self.row, draw as u64),
        }
    }
}

/// Gumbel noise: a function of where it is drawn, whatever was drawn before.
pub fn gumbel(seed: u64, restart: u64, row: u64, draw: u64) -> f64 {
    let bits = [restart, row, draw].iter().fold(mixed(seed), |h, &part| mixed(h ^ part));
    // In the middle of one of 2^53 equal parts of (0, 1), so neither logarithm is of 0.
    let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -real::log(-real::log(uniform))
}

/// The step of splitmix64: every bit of the result depends on every bit of the argument.
fn mixed(x: u64) -> u64 {
    let mut state = x;
    num::next_random(&mut state)
}

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("%soft-temperature", 0, |w, _| temperature(w)),
    fixed("%soft-hard?", 0, |w, _| Ok(Value::boolean(w.choices.settings.hard))),
    // The next noise, or false.
    fixed("%gumbel", 0, |w, _| if w.choices.settings.gumbel { noise(w) } else { Ok(Value::FALSE) }),
    // (%weigh x weight): x times weight; with weight 0, x counts for nothing.
    fixed("%weigh", 2, |w, a| {
        if w.is_tensor(w.plain(a[0])) {
            return w.elementwise(Op::Weigh, a);
        }
        let (x, weight) = (number(w, "soft-choice", a[0])?, number(w, "soft-choice", a[1])?);
        recorded(w, Op::Weigh, a, &[0, 1], Op::Weigh.eval_reals(&[x, weight]))
    }),
    // (%select test x y): x or y without a decision.
    fixed("%select", 3, |w, a| {
        let test = w.plain(a[0]).is_true();
        let chosen = if test { a[1] } else { a[2] };
        let Some(node) = w.node_of(a[0]) else { return Ok(chosen) };
        let x = number(w, "soft-choice", chosen)?;
        // The node of a test that was negated has the other outcome.
        let negated = (w.recorder()?.bits(node) != 0) != test;
        let operands = if negated { [a[0], a[2], a[1]] } else { [a[0], a[1], a[2]] };
        recorded(w, Op::Select, &operands, &[0], x)
    }),
    // (%linear y d x): the real y, whose derivative by x is d.
    fixed("%linear", 3, |w, a| {
        let y = number(w, "with-derivative", a[0])?;
        number(w, "with-derivative", a[1])?;
        recorded(w, Op::Linear, a, &[0, 2], y)
    }),
];

fn number(world: &World, who: &str, v: Value) -> Result<f64, Error> {
    num::operand(&world.heap, who, world.fit(world.plain(v))).map(|n| n.to_f64())
}

/// A real result, on the tape if one of the operands that it varies with is.
fn recorded(world: &mut World, op: Op, args: &[Value], by: &[usize], result: f64) -> Result<Value, Error> {
    let result = world.fit(Value::real(result));
    if by.iter().any(|&i| world.node_of(args[i]).is_some()) { world.record(op, args, result) } else { Ok(result) }
}

fn temperature(world: &mut World) -> Result<Value, Error> {
    let t = world.choices.settings.temperature;
    if !(t > 0.0 && t.is_finite()) {
        return Err(Diagnostic::error(
            ErrorCode::E0303,
            format!("soft-choice expected a positive temperature, got {t:?}"),
        )
        .help("set the temperature of the evaluation to a positive number such as 0.5"));
    }
    let plain = world.fit(Value::real(t));
    if !is_recorded(world) {
        return Ok(plain);
    }
    if let Some(node) = world.choices.temperature_node {
        return Ok(world.traced_value(node, plain));
    }
    let leaf = world.traced_leaf("%temperature", LeafKind::Setting, t);
    world.choices.temperature_node = world.node_of(leaf);
    Ok(leaf)
}

fn noise(world: &mut World) -> Result<Value, Error> {
    // The temperature's leaf comes first.
    temperature(world)?;
    world.choices.drawn += 1;
    let drawn = world.choices.drawn;
    let x = world.choices.leaf(drawn as usize);
    Ok(if is_recorded(world) { world.traced_leaf("%gumbel", LeafKind::Noise, x) } else { world.fit(Value::real(x)) })
}

/// Whether there is a tape that the caller wants.
fn is_recorded(world: &World) -> bool {
    world.recording.as_ref().is_some_and(|recording| recording.wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_gumbel_distribution_along_every_coordinate() {
        let n = 100_000;
        let along: [fn(u64) -> f64; 4] =
            [|i| gumbel(i, 0, 0, 0), |i| gumbel(1, i, 0, 0), |i| gumbel(1, 0, i, 0), |i| gumbel(1, 0, 0, i)];
        for draw in along {
            let list: Vec<f64> = (0..n).map(draw).collect();
            let mean = list.iter().sum::<f64>() / n as f64;
            let variance = list.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
            // Five standard errors of the mean, 1.28 / sqrt(n), and of the variance, 3.45 / sqrt(n).
            assert!((mean - 0.577_215_664_9).abs() < 0.021, "{mean}");
            assert!((variance - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.055, "{variance}");
            let below = list.iter().filter(|&&x| x < 0.0).count() as f64 / n as f64;
            assert!((below - (-1.0f64).exp()).abs() < 0.008, "{below}");
        }
    }

    #[test]
    fn noise_depends_on_every_coordinate() {
        let here = gumbel(1, 2, 3, 4);
        assert_eq!(here.to_bits(), gumbel(1, 2, 3, 4).to_bits());
        for other in
            [gumbel(0, 2, 3, 4), gumbel(1, 0, 3, 4), gumbel(1, 2, 0, 4), gumbel(1, 2, 3, 0), gumbel(1, 3, 2, 4)]
        {
            assert_ne!(here, other);
        }
    }
}

//! Loops over arrays of lanes: lanes that are done keep their state while others go on.

use super::{Dialect, Writer};
use crate::scalar::{Kind, Repeat};

impl Writer<'_> {
    /// A loop: its state at the end, its rounds, and whether it ended, by names that begin with its own.
    pub(super) fn repeat(&mut self, repeat: &Repeat, name: &str, operands: &[String], mask: &str, prefix: &str) {
        match (repeat.kind, self.dialect) {
            (Kind::Forward(limit), Dialect::Jax) => self.forward_jax(repeat, name, operands, mask, limit),
            (Kind::Forward(limit), _) => self.forward(repeat, name, operands, mask, limit),
            (Kind::Backward(of), Dialect::Jax) => self.backward_jax(repeat, name, operands, &format!("{prefix}{of}")),
            (Kind::Backward(of), _) => self.backward(repeat, name, operands, &format!("{prefix}{of}")),
        }
    }

    fn states(name: &str, count: usize) -> Vec<String> {
        (0..count).map(|s| format!("{name}_s{s}")).collect()
    }

    fn begin(&mut self, name: &str, operands: &[String], states: usize) {
        for (s, operand) in operands.iter().enumerate().take(states) {
            self.lines.line(format!("{name}_s{s} = {}", self.full(operand)));
        }
        self.lines.line(format!("{name}_rounds = {}", self.full(&self.int(0))));
    }

    /// What the end of a round has in common in all dialects: which lanes go on, and their next state.
    fn round(&mut self, repeat: &Repeat, name: &str, operands: &[String], limit: u64) -> Vec<String> {
        let states = repeat.states;
        let leaves: Vec<String> =
            Self::states(name, states).into_iter().chain(operands[states..].iter().cloned()).collect();
        let (names, mask) = self.code(&repeat.body, &format!("{name}_"), &leaves, &format!("{name}_on"), None);
        let limit = limit.min(1 << 53);
        self.lines.line(format!("{name}_over = {}", self.and(&mask, &format!("{name}_rounds >= {limit}"))));
        self.lines.line(format!("{name}_go = {}", self.and(&mask, &self.not(&format!("{name}_over")))));
        repeat.body.outputs.iter().map(|&o| names[o].clone()).collect()
    }

    fn advance(&mut self, name: &str, next: &[String]) {
        for (s, next) in next.iter().enumerate() {
            self.lines
                .line(format!("{name}_n{s} = {}", self.call("where", &format!("{name}_go, {next}, {name}_s{s}"))));
        }
        for s in 0..next.len() {
            self.lines.line(format!("{name}_s{s} = {name}_n{s}"));
        }
    }

    fn forward(&mut self, repeat: &Repeat, name: &str, operands: &[String], mask: &str, limit: u64) {
        self.begin(name, operands, repeat.states);
        self.lines.line(format!("{name}_on = {mask}"));
        self.lines.line(format!("{name}_ended = {}", self.call("logical_or", &format!("{mask}, {}", self.not(mask)))));
        if repeat.followed {
            self.lines.line(format!("{name}_past = []"));
        }
        self.lines.line("while True:");
        self.lines.deeper();
        let next = self.round(repeat, name, operands, limit);
        let ended = self.and(&format!("{name}_ended"), &self.not(&format!("{name}_over")));
        self.lines.line(format!("{name}_ended = {ended}"));
        self.lines.line(format!("if not {}:", self.call("any", &format!("{name}_go"))));
        self.lines.deeper();
        self.lines.line("break");
        self.lines.back();
        if repeat.followed {
            let past: Vec<String> = Self::states(name, repeat.states);
            self.lines.line(format!("{name}_past.append(({name}_go, [{}]))", past.join(", ")));
        }
        self.advance(name, &next);
        let one = self.call("where", &format!("{name}_go, {}, {}", self.int(1), self.int(0)));
        self.lines.line(format!("{name}_rounds = {name}_rounds + {one}"));
        self.lines.line(format!("{name}_on = {name}_go"));
        self.lines.back();
    }

    fn backward(&mut self, repeat: &Repeat, name: &str, operands: &[String], of: &str) {
        self.begin(name, operands, repeat.states);
        self.lines.line(format!("{name}_ended = {of}_ended"));
        self.lines.line(format!("for {name}_go, {name}_past in reversed({of}_past):"));
        self.lines.deeper();
        let next = self.round_back(repeat, name, operands);
        self.advance(name, &next);
        self.lines.back();
    }

    fn round_back(&mut self, repeat: &Repeat, name: &str, operands: &[String]) -> Vec<String> {
        let states = repeat.states;
        let past = repeat.body.leaves.len() - operands.len();
        let leaves: Vec<String> = Self::states(name, states)
            .into_iter()
            .chain((0..past).map(|p| format!("{name}_past[{p}]")))
            .chain(operands[states..].iter().cloned())
            .collect();
        let (names, _) = self.code(&repeat.body, &format!("{name}_"), &leaves, &format!("{name}_go"), None);
        repeat.body.outputs.iter().map(|&o| names[o].clone()).collect()
    }

    fn forward_jax(&mut self, repeat: &Repeat, name: &str, operands: &[String], mask: &str, limit: u64) {
        let states = Self::states(name, repeat.states);
        self.begin(name, operands, repeat.states);
        self.lines.line(format!("{name}_on = _full({mask}, on)"));
        self.lines.line(format!("{name}_ended = jnp.ones_like({name}_on)"));
        let past = if repeat.followed {
            let slots: Vec<String> = std::iter::once(&format!("{name}_on"))
                .chain(&states)
                .map(|s| format!("jnp.zeros((max_rounds,) + {s}.shape, {s}.dtype)"))
                .collect();
            self.lines.line(format!("{name}_past = ({},)", slots.join(", ")));
            self.lines.line(format!("{name}_count = 0"));
            format!(", {name}_past, {name}_count")
        } else {
            String::new()
        };
        let list: String = states.iter().map(|s| format!(", {s}")).collect();
        let carry = format!("({name}_on, {name}_ended, {name}_rounds{list}{past},)");
        self.lines.line(format!("def {name}_body({name}_carry):"));
        self.lines.deeper();
        self.lines.line(format!("{carry} = {name}_carry"));
        let next = self.round(repeat, name, operands, limit);
        if repeat.followed {
            // A round that cannot be remembered is not taken, and the lane is not known.
            self.lines.line(format!(
                "{name}_over = jnp.logical_or({name}_over, jnp.logical_and({name}_go, {name}_count >= max_rounds))"
            ));
            self.lines.line(format!("{name}_go = jnp.logical_and({name}_go, {name}_count < max_rounds)"));
        }
        self.lines.line(format!("{name}_ended = jnp.logical_and({name}_ended, jnp.logical_not({name}_over))"));
        if repeat.followed {
            let now: String = states.iter().map(|s| format!("{s}, ")).collect();
            self.lines.line(format!(
                "{name}_past = tuple(p.at[{name}_count].set(_full(x, on), mode=\"drop\") for p, x in zip({name}_past, \
                 ({name}_go, {now})))"
            ));
            self.lines.line(format!("{name}_count = {name}_count + jnp.any({name}_go)"));
        }
        self.advance(name, &next);
        self.lines.line(format!("{name}_rounds = {name}_rounds + jnp.where({name}_go, _int(1, on), _int(0, on))"));
        self.lines.line(format!("{name}_on = {name}_go"));
        self.lines.line(format!("return {carry}"));
        self.lines.back();
        self.lines.line(format!("{carry} = jax.lax.while_loop(lambda c: jnp.any(c[0]), {name}_body, {carry})"));
    }

    fn backward_jax(&mut self, repeat: &Repeat, name: &str, operands: &[String], of: &str) {
        let states = Self::states(name, repeat.states);
        self.begin(name, operands, repeat.states);
        self.lines.line(format!("{name}_ended = {of}_ended"));
        let list: String = states.iter().map(|s| format!("{s}, ")).collect();
        self.lines.line(format!("def {name}_body({name}_carry):"));
        self.lines.deeper();
        self.lines.line(format!("({name}_at, {list}) = {name}_carry"));
        self.lines.line(format!("{name}_at = {name}_at - 1"));
        self.lines.line(format!("{name}_go, *{name}_past = [p[{name}_at] for p in {of}_past]"));
        let next = self.round_back(repeat, name, operands);
        self.advance(name, &next);
        self.lines.line(format!("return ({name}_at, {list})"));
        self.lines.back();
        self.lines.line(format!(
            "({name}_at, {list}) = jax.lax.while_loop(lambda c: c[0] > 0, {name}_body, ({of}_count, {list}))"
        ));
    }
}

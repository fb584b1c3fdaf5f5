//! Models from seeds, in the ways in which people write them: steps that are accepted or rejected, rollouts that collect
//! what they compute, states that are small tensors.
//!
//! [`text`] gives a program with the parameters `a` and `b`, a real input `x` and an exact one, `n`, from 0 to 12. Its
//! value is a number at every point.

use crate::random::Random;

/// The model of a seed.
pub fn text(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut models = Models { random: &mut random, names: 0 };
    let parts: Vec<String> = (0..1 + models.random.below(2)).map(|_| models.part()).collect();
    match &parts[..] {
        [one] => format!("(tanh {one})"),
        parts => format!("(+ (tanh {}) (* b (tanh {})))", parts[0], parts[1]),
    }
}

struct Models<'a> {
    random: &'a mut Random,
    names: usize,
}

impl Models<'_> {
    fn part(&mut self) -> String {
        match self.random.below(4) {
            0 => self.accepted_steps(),
            1 => self.small_tensor(),
            _ => self.collected(),
        }
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A real expression of some variables, of moderate size.
    fn real(&mut self, variables: &[&str], depth: usize) -> String {
        if depth == 0 || self.random.one_in(6) {
            let literal = self.random.one_in(5);
            return match literal {
                true => self.random.text(&["0.3", "0.9", "-0.4", "1.1", "2.0"]).into(),
                false => (*self.random.pick(variables)).into(),
            };
        }
        let d = depth - 1;
        match self.random.below(9) {
            0 | 1 => format!("(+ {} {})", self.real(variables, d), self.real(variables, d)),
            2 | 3 => format!("(* {} {})", self.real(variables, d), self.real(variables, d)),
            4 => format!("(- {} {})", self.real(variables, d), self.real(variables, d)),
            5 => {
                format!("({} {})", self.random.text(&["sin", "tanh", "sigmoid", "abs", "cos"]), self.real(variables, d))
            }
            6 => format!("(max {} {})", self.real(variables, d), self.real(variables, d)),
            7 => format!("(/ {} (+ 2.0 (square {})))", self.real(variables, d), self.real(variables, d)),
            _ => {
                let (p, q) = (self.real(variables, d), self.real(variables, d));
                format!("(if (< {p} {q}) {} {})", self.real(variables, d), self.real(variables, d))
            }
        }
    }

    /// Steps of a size that grows after one that is accepted and shrinks after one that is not: two calls, or one.
    fn accepted_steps(&mut self) -> String {
        let go = self.name("go");
        let slope = self.real(&["%", "a", "x"], 2);
        let (slope, middle) = (slope.replace('%', "u"), slope.replace('%', "m"));
        let tolerance = *self.random.pick(&["0.01", "0.05", "0.2"]);
        let most = self.random.between(3, 40);
        let next = match self.random.below(3) {
            0 => format!("(if (< e {tolerance}) ({go} (+ t h) (* 1.5 h) m (- k 1)) ({go} t (* 0.5 h) u (- k 1)))"),
            1 => format!(
                "({go} (if (< e {tolerance}) (+ t h) t) (if (< e {tolerance}) (* 1.5 h) (* 0.5 h)) \
                 (if (< e {tolerance}) m u) (- k 1))"
            ),
            _ => format!(
                "(cond ((< e {tolerance}) ({go} (+ t h) (* 1.5 h) m (- k 1))) ((< h 1e-3) ({go} (+ t h) h m (- k 1))) \
                 (else ({go} t (* 0.5 h) u (- k 1))))"
            ),
        };
        format!(
            "(let {go} ((t 0.0) (h 0.3) (u x) (k {most})) (if (or (>= t 1.0) (= k 0)) u \
             (let* ((p {slope}) (m (tanh (+ u (* h p)))) (q {middle}) (e (abs (* h (- q p))))) {next})))"
        )
    }

    /// A state that is a vector of two or three numbers.
    fn small_tensor(&mut self) -> String {
        let go = self.name("go");
        let size = self.random.between(2, 3);
        let parts = |this: &mut Self| {
            let all: Vec<String> = (0..size).map(|_| this.real(&["(ref u 0)", "(ref u 1)", "a", "b"], 2)).collect();
            format!("(vec {})", all.join(" "))
        };
        let (first, second) = (parts(self), parts(self));
        let start: Vec<&str> = (0..size).map(|_| *self.random.pick(&["x", "a", "0.2"])).collect();
        let start = start.join(" ");
        let rounds = *self.random.pick(&["n", "5", "60"]);
        let value = self.random.text(&["(sum u)", "(ref u 1)", "(dot u u)", "(norm (+ u 0.5))"]);
        let step = match self.random.below(3) {
            0 => format!("(tanh (+ u (* 0.1 {first})))"),
            1 => format!("(tanh (+ u (* 0.05 (+ {first} (* 2 {second})))))"),
            _ => format!("(if (< (ref u 0) a) (sin (+ u {first})) (tanh (* 0.9 (- u {second}))))"),
        };
        format!("(let {go} ((i 0) (u (vec {start}))) (if (= i {rounds}) {value} ({go} (+ i 1) {step})))")
    }

    /// A rollout that collects what it computes, and what is made of that.
    fn collected(&mut self) -> String {
        let go = self.name("go");
        let rounds = *self.random.pick(&["n", "9", "40", "150"]);
        let has_time = self.random.one_in(3);
        let variables: &[&str] = if has_time { &["u", "v", "a", "b", "(* 0.01 i)"] } else { &["u", "v", "a", "b"] };
        let (p, q) = (self.real(variables, 3), self.real(variables, 2));
        let q = if self.random.one_in(3) { "u".into() } else { q };
        let item = self.random.text(&["p", "u", "(* p q)", "(- p v)"]).to_string();
        let bind = format!("(let* ((p (tanh {p})) (q (tanh {q})))");
        let used = self.used();
        let order = self.random.text(&["l", "(reverse l)"]);
        match self.random.below(4) {
            0 => {
                let other = self.random.text(&["q", "(sin p)", "v"]);
                format!(
                    "(let {go} ((i 0) (u x) (v a) (l '()) (m '())) (if (= i {rounds}) (let ((l {order})) \
                     (+ {used} (apply + (map * l m)))) {bind} ({go} (+ i 1) p q (cons {item} l) (cons {other} m)))))"
                )
            }
            1 => format!(
                "(let ((w (make-vector 200 0.0))) (let {go} ((i 0) (u x) (v a)) (if (= i {rounds}) \
                 (let ((l (vector->list w 0 {rounds}))) {used}) {bind} (vector-set! w i {item}) ({go} (+ i 1) p q)))))"
            ),
            2 => format!(
                "(let ((l (let {go} ((i 0) (u x) (v a)) (if (= i {rounds}) '() {bind} (cons {item} \
                 ({go} (+ i 1) p q))))))) {used})"
            ),
            _ => format!(
                "(let {go} ((i 0) (u x) (v a) (l '())) (if (= i {rounds}) (let ((l {order})) {used}) \
                 {bind} ({go} (+ i 1) p q (cons {item} l)))))"
            ),
        }
    }

    /// A number made of the list `l`.
    fn used(&mut self) -> String {
        let f = self.real(&["z", "a", "x"], 2);
        match self.random.below(7) {
            0 => "(apply + l)".into(),
            1 => format!("(apply + (map (lambda (z) {f}) l))"),
            2 => format!("(fold-left (lambda (s z) (+ (* 0.9 s) {f})) 0.1 l)"),
            3 => "(if (null? l) a (list-ref l (quotient (length l) 2)))".into(),
            4 => "(/ (apply + l) (+ 1 (length l)))".into(),
            5 => "(let ((s 0.0)) (for-each (lambda (z) (set! s (+ s (* z z)))) l) s)".into(),
            _ => "(if (null? l) b (apply + (map * l (append (cdr l) (list x)))))".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_of_all_kinds() {
        let all: Vec<String> = (0..200).map(text).collect();
        for form in ["(cons p l)", "(vector-set! w", "(vec ", "(* 0.5 h)", "(reverse l)", "(list-ref l"] {
            assert!(all.iter().filter(|text| text.contains(form)).count() > 3, "{form}");
        }
        assert!(all.iter().all(|text| crate::sexp::parse(text).len() == 1));
    }
}

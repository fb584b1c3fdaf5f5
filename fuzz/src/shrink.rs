//! Making a failing program small.

use dmci_generate::sexp::Sexp;

/// Replacements that are tried for a subexpression, simplest first.
const CONSTANTS: &[&str] = &["1", "'()", "#f", "\"\""];

/// A smaller program for which `fails` is still true; `fails` is called at most `budget` times.
pub fn shrink(forms: Vec<Sexp>, budget: usize, mut fails: impl FnMut(&[Sexp]) -> bool) -> Vec<Sexp> {
    let mut best = forms;
    let mut left = budget;
    let mut try_one = |candidate: Vec<Sexp>, best: &mut Vec<Sexp>| {
        if left == 0 {
            return false;
        }
        left -= 1;
        let better = fails(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let before = size(&best);
        let mut i = best.len();
        while i > 0 {
            i -= 1;
            if best.len() > 1 && i < best.len() {
                let mut fewer = best.clone();
                fewer.remove(i);
                try_one(fewer, &mut best);
            }
        }
        let mut node = 0;
        while node < size(&best) {
            let candidates = smaller(&best, node);
            if !candidates.into_iter().any(|candidate| try_one(candidate, &mut best)) {
                node += 1;
            }
        }
        if size(&best) >= before {
            return best;
        }
    }
}

fn size(forms: &[Sexp]) -> usize {
    forms.iter().map(Sexp::size).sum()
}

/// The program with one node replaced by something smaller, in all ways we know.
fn smaller(forms: &[Sexp], node: usize) -> Vec<Vec<Sexp>> {
    let replace = |new: Sexp| {
        let mut copy = forms.to_vec();
        let mut index = node;
        for form in &mut copy {
            if let Some(place) = form.node_mut(&mut index) {
                *place = new;
                break;
            }
        }
        copy
    };
    let mut copy = forms.to_vec();
    let mut index = node;
    let Some(here) = copy.iter_mut().find_map(|form| form.node_mut(&mut index)) else { return Vec::new() };
    let here = here.clone();
    if matches!(here, Sexp::Atom(_)) {
        return Vec::new();
    }
    let mut all: Vec<Vec<Sexp>> = CONSTANTS
        .iter()
        .map(|c| dmci_generate::sexp::form(c, []))
        .filter(|c| c.size() < here.size())
        .map(&replace)
        .collect();
    all.extend(here.children().iter().cloned().map(&replace));
    if let Sexp::List(items) = &here {
        for i in 0..items.len() {
            let mut fewer = items.clone();
            fewer.remove(i);
            all.push(replace(Sexp::List(fewer)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_generate::sexp::{parse, text_of};

    #[test]
    fn only_what_fails_is_left() {
        let forms = parse("(define x 1) (display (list 1 (car (bad x)) 3)) (+ 1 2)");
        let small = shrink(forms, 1000, |forms| text_of(forms).contains("bad"));
        assert_eq!(text_of(&small), "bad\n");
    }
}

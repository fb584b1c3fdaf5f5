//! What each part of a search is worth: every third law of `sr_feynman` with one part switched off.

use crate::feynman::{EVERY, OPERATIONS, is_recovered, laws};
use crate::{Change, SIZE, judged, run_table};
use dmci_search::candidate::Candidate;
use dmci_search::operation::Operations;
use dmci_search::search::{Proposer, Settings};
use dmci_search::worker::Workshop;
use std::time::Duration;

/// `bench ablation [SECONDS]`.
pub fn ablation(seconds: f64) -> bool {
    let without = |proposer: Proposer| {
        move |_: &mut Workshop, settings: &mut Settings| settings.proposers.retain(|(p, _)| *p != proposer)
    };
    let (enumeration, decomposition, library, grammar) = (
        without(Proposer::Enumeration),
        without(Proposer::Decomposition),
        without(Proposer::Library),
        without(Proposer::Grammar),
    );
    let arms: [(&str, bool, Change<'_>); 9] = [
        ("units and everything", true, crate::AS_IT_IS),
        ("everything, no units", false, crate::AS_IT_IS),
        ("- decomposition", false, &decomposition),
        ("- enumeration", false, &enumeration),
        ("- library", false, &library),
        ("- grammar", false, &grammar),
        ("- snapping", false, &|workshop, _| workshop.switches.snapping = false),
        ("- lowest rung", false, &|workshop, _| workshop.switches.screening = false),
        ("- deduplication", false, &|_, settings| settings.deduplicate = false),
    ];
    let laws = laws(0.0);
    println!("every third law of sr_feynman, noise 0, {seconds} s of one core each:");
    println!("{:<22} recovered  hypotheses  seconds", "");
    for (name, with_units, change) in arms {
        let (mut found, mut all, mut hypotheses, mut spent) = (0, 0, 0, 0.0);
        for law in laws.iter().step_by(EVERY) {
            let operations = Operations::parse(OPERATIONS).expect("they exist");
            let (units, limit) = (with_units.then_some(&law.units), Duration::from_secs_f64(seconds));
            let ran = run_table(law.part.clone(), &law.names, operations, units, None, 0, None, SIZE, limit, change);
            let best = judged(&ran, 0).expect("there is a judgement").best.entry;
            let candidate = Candidate { values: best.score.values.clone(), ..best.candidate };
            found += usize::from(is_recovered(law, &candidate));
            (all, hypotheses, spent) = (all + 1, hypotheses + ran.search.evaluations(), spent + ran.elapsed);
        }
        println!("{name:<22} {found:>3} of {all}  {hypotheses:>10}  {spent:>7.0}");
    }
    true
}

//! 200 restarts of the Earth system model of the paper's Part G as one population: 20 steps, 32 rows, 15
//! parameters, 300 epochs of Adam, each restart with its own clip.
//!
//! ```sh
//! cargo run --release -p dmci-repro --example population [RESTARTS]
//! ```

use dmci::{Column, Datum, Interpreter, Model, ModelOptions, Program, RunOptions, Want};
use dmci_fit::{AdamOptions, Budget, Member, Optimizer, Population, Problem, ProblemOptions, Table};
use dmci_stats::random::Stream;
use std::time::Instant;

const LEARNED: [&str; 15] = [
    "p_lam",
    "p_kht",
    "p_Cm",
    "p_Cd",
    "p_rf_co2",
    "p_rf_ch4",
    "p_rf_n2o",
    "p_rf_sulf",
    "p_rf_bc",
    "p_npp",
    "p_cf",
    "p_ao",
    "p_md",
    "p_tr",
    "p_pts",
];

fn main() -> Result<(), dmci::Report> {
    let restarts: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(200);
    let text = include_str!("../models/earth/diffesm-s.scm");
    let program = Program::named("diffesm-s.scm", text);
    let constants = |list: &[(&str, Datum)]| list.iter().map(|(n, d)| (n.to_string(), d.clone())).collect::<Vec<_>>();
    let bindings = constants(&[
        ("steps", Datum::Integer(20)),
        ("E_CH4", Datum::Real(100.0)),
        ("E_N2O", Datum::Real(4.0)),
        ("E_SO2", Datum::Real(50.0)),
    ]);
    let run = RunOptions { bindings, ..RunOptions::default() };
    // The target is what the model says at its defaults.
    let emissions: Vec<f64> = (0..32).map(|i| 5.0 + 15.0 * f64::from(i) / 31.0).collect();
    let options = ModelOptions { run: run.clone(), ..ModelOptions::default() };
    let model = Model::new(program.clone(), &[], &["E_CO2"], options);
    let truth = model.evaluate(&[], &[Column::Reals(emissions.clone())], Want::Values)?;
    let rows: Vec<String> = emissions.iter().zip(&truth.values).map(|(e, t)| format!("{e:?},{t:?}")).collect();
    let table = Table::from_csv("earth.csv", format!("E_CO2,T\n{}\n", rows.join("\n")).as_bytes())?;
    let only = LEARNED.map(String::from).to_vec();
    let problem = Problem::new(program, &table, "T", ProblemOptions { run, only: Some(only), ..Default::default() })?;
    println!("{} rows, {} parameters, {restarts} restarts", problem.training().len(), problem.layout.raws);

    let adam = AdamOptions { rate: 0.003, clip: Some(1.0), patience: usize::MAX, ..AdamOptions::default() };
    let optimizer = Optimizer::Adam(adam);
    let budget = Budget { epochs: Some(300), ..Budget::default() };
    let base = problem.start().to_vec();
    let member = |i: usize| {
        let mut stream = Stream::new(1042, i as u64);
        Member::at(i, &base, base.iter().map(|x| 0.15 * x.abs() * stream.normal()).collect(), 1042)
    };
    let _ = Interpreter::shared();
    let began = Instant::now();
    let mut population = Population::of(optimizer.clone(), (0..restarts).map(member).collect());
    while population.running() > 0 {
        population.round(&problem, &budget, &mut |_| ())?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let worst = population.members.iter().map(Member::loss).fold(0.0, f64::max);
    let reached = population.members.iter().filter(|m| m.loss() < 1e-3).count();
    println!("{seconds:.3} s; {reached} of {restarts} reach a loss below 1e-3; the worst is {worst:.2e}");

    // Some of them alone: the same bits.
    for i in (0..restarts).step_by(restarts.div_ceil(5)) {
        let mut alone = Population::of(optimizer.clone(), vec![member(i)]);
        while alone.running() > 0 {
            alone.round(&problem, &budget, &mut |_| ())?;
        }
        assert_eq!(alone.members[0].best, population.members[i].best, "restart {i} differs from itself alone");
    }
    println!("restarts are bit for bit what they are alone");
    Ok(())
}

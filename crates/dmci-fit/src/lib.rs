//! Fitting: from a program and a table to parameters and a picture.
//!
//! ```
//! use dmci::Program;
//! use dmci_fit::{FitOptions, Problem, ProblemOptions, Table, fit};
//! use std::ops::ControlFlow;
//!
//! let program = Program::new("(params (a positive 1.0) (b free 0.0)) (+ b (* a x))");
//! let table = Table::from_csv("line.csv", "x,y\n0.0,1.0\n1.0,3.0\n2.0,5.0\n".as_bytes()).expect("a table");
//! let problem = Problem::new(program, &table, "y", ProblemOptions::default()).expect("it fits together");
//! let result = fit(&problem, &FitOptions::default(), &mut |_| ControlFlow::Continue(())).expect("it runs");
//! assert!((result.parameters[0].value - 2.0).abs() < 1e-3);
//! assert!((result.parameters[1].value - 1.0).abs() < 1e-3);
//! ```
//!
//! **Invariant:** nothing here touches files, the terminal or signals; observers decide when to stop.

mod binding;
mod by_group;
mod check;
mod check_table;
mod choice;
mod compare;
mod conclusion;
mod diagnose;
mod ending;
mod evaluate;
mod explore;
mod fit;
mod fitted_groups;
mod flat;
mod forecast;
mod formula;
mod frequency;
mod groups;
mod hessian;
mod layout;
mod lean;
pub mod literals;
mod loss;
mod member;
mod objective;
mod optima;
mod optimality;
mod picture;
mod points;
mod polish;
mod population;
mod predict;
mod prepared;
pub mod prior;
mod problem;
mod project;
mod record;
mod remembered;
mod request;
mod resample;
mod residual_pictures;
mod residuals;
mod result;
mod score;
pub mod search;
mod second;
mod segment;
mod separate;
mod starts;
mod structure;
mod sums;
mod transform;
mod uncertainty;
mod watch;

pub use binding::{constant_input, find_column};
pub use by_group::{GroupStart, Held};
pub use check_table::{TableCheck, check_table};
pub use choice::{Choice, Method, Stage};
pub use compare::{Compared, Comparison, Entrant, Unseen, Validation, compare};
pub use diagnose::diagnose;
pub use dmci_stats::diagnosis::{Diagnosis, Searched, Verdict as Blame};
pub use dmci_table::{Format, Holdout, Table, TableColumn, write_npz};
pub use explore::SEARCH_WORK;
pub use fit::{FitOptions, Progress, fit};
pub use fitted_groups::{FittedGroup, fitted_groups};
pub use forecast::{Baseline, Cast, Forecast, ForecastSettings, Interval, Origins, Ratio, Scores, forecast};
pub use formula::{FormulaProgram, FormulaSettings, OriginalScale, check_notation};
pub use layout::{Block, Layout};
pub use lean::{LeanFit, LeanOptions};
pub use loss::{Loss, Noise};
pub use member::{Budget, Member};
pub use objective::{Series, numbers, results_of};
pub use optima::Optima;
pub use optimality::{Optimality, Outcome, TOLERANCE};
pub use picture::{LogAxes, picture};
pub use points::{Asked, Points};
pub use population::Population;
pub use predict::{Band, Grid, PredictSettings, Prediction, TargetPrediction, columns_to_predict, predict};
pub use prepared::{Point, Prepared, check_settings, number_names, present, rows_without, wanted, words};
pub use problem::{Data, Problem, ProblemOptions, Rows, Targets};
pub use record::{
    BootstrapRecord, ChiSquareRecord, CriteriaRecord, DataRecord, DirectionRecord, EngineRecord, FitRecord,
    FoundRecord, LossRecord, NamedNumber, NoiseRecord, NumberRecord, Numbers, OptimaRecord, OptimalityRecord,
    OptimizerRecord, ParameterRecord, ProgramRecord, Real, RestartRecord, SCHEMA, ScoreRecord, UncertaintyRecord,
};
pub use request::{
    FitRequest, FormulaNames, Inputs, OutputFile, OutputSettings, Params, ProblemSettings, RunSettings, SearchSettings,
    Source, with_matrices,
};
pub use resample::{Bootstrap, Intervals, LEAST_SAMPLES, bootstrap, profile};
pub use result::{Fit, Fitted, Number, RestartResult, with_starts};
pub use score::{ChiSquare, Criteria, Score};
pub use search::{AdamOptions, Evaluation, Need, Optimizer, Stop};
pub use starts::offset;
pub use transform::Transform;
pub use uncertainty::{Direction, Errors, Sureness, Uncertainty, Verdict};

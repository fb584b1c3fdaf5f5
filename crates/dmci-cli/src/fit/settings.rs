//! From arguments to the settings of a fit.

use crate::args::fit::{DataArgs, Fit as Arguments, SearchArgs};
use crate::output;
use dmci::Report;
use dmci_fit::search::{CmaOptions, DifferentialOptions, EvolutionOptions, SamplingOptions};
use dmci_fit::{Budget, FitOptions, Holdout, LEAST_SAMPLES, Loss, Method, Optimizer};

/// More searches than this would fill the memory.
const MAX_RESTARTS: u64 = 100_000;

/// The loss of a name; a name that is none is a procedure of the program. Without a name, the columns say it.
pub fn loss(args: &DataArgs) -> Result<Loss, Report> {
    let loss = match &args.loss {
        Some(name) => Loss::named(name).unwrap_or_else(|| Loss::Procedure(name.clone())),
        None => Loss::meant(args.sigma.is_some(), args.trials.is_some()),
    };
    let given = [
        ("--huber", args.huber.is_some(), matches!(loss, Loss::Huber(_))),
        ("--df", args.df.is_some(), matches!(loss, Loss::StudentT(_))),
        ("--sigma", args.sigma.is_some(), loss.uses_sigma()),
        ("--trials", args.trials.is_some(), loss.uses_trials()),
    ];
    if let Some((option, ..)) = given.into_iter().find(|(_, given, used)| *given && !used) {
        let message = format!("{option} does not belong to the {} loss", loss.name());
        return Err(output::usage_error(message, "remove it, or choose the loss that it belongs to"));
    }
    Ok(match loss {
        Loss::Huber(usual) => Loss::Huber(args.huber.unwrap_or(usual)),
        Loss::StudentT(usual) => Loss::StudentT(args.df.unwrap_or(usual)),
        other => other,
    })
}

/// What stands for a missing value.
pub fn missing(args: &DataArgs) -> Vec<String> {
    args.missing.iter().flat_map(|m| m.split(',')).map(|w| w.trim().to_string()).collect()
}

/// The rows that are held out.
pub fn holdout(text: Option<&str>) -> Result<Holdout, Report> {
    let Some(text) = text else { return Ok(Holdout::None) };
    Holdout::parse(text).ok_or_else(|| {
        let message = format!("expected rows to hold out, got --holdout {text}");
        output::usage_error(
            message,
            "write a share such as 0.3, tail:0.3, column:NAME, range:NAME:LOW:HIGH, fold:2/5 or rolling:2/5",
        )
    })
}

/// How a fit searches.
pub fn fit_options(args: &Arguments) -> Result<FitOptions, Report> {
    let search = &args.search;
    if let Some(restarts) = search.restarts.filter(|n| *n > MAX_RESTARTS) {
        let message = format!("expected at most {MAX_RESTARTS} restarts, got {restarts}");
        return Err(output::usage_error(message, "use several seeds, one after the other"));
    }
    if let Some(samples) = args.bootstrap.filter(|n| *n < LEAST_SAMPLES as u64) {
        let message = format!("expected at least --bootstrap {LEAST_SAMPLES}, got {samples}");
        return Err(output::usage_error(message, "errors and intervals are the spread of such fits: 200 are usual"));
    }
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    Ok(FitOptions {
        method: method(search)?,
        budget: Budget {
            epochs: search.epochs.map(count),
            target: search.stop_at,
            window: search.window.map_or(0, count),
            last: search.last,
        },
        more_restarts: search.restarts.map_or(0, |n| count(n) - 1),
        // Who says how many searches there are means it.
        search_work: search.restarts.map(|_| 0.0).or(search.search_work),
        no_projection: search.no_projection,
        seed: args.options.seed,
        time: search.time_limit,
        evaluations: search.max_evals.map(count),
        resume: None,
    })
}

fn method(args: &SearchArgs) -> Result<Method, Report> {
    let name = args.optimizer.as_str();
    let mut method = match name {
        "auto" => Method::Auto,
        "portfolio" => Method::Portfolio,
        _ => match Optimizer::named(name) {
            Some(optimizer) => Method::One(optimizer),
            None => {
                let message = format!("there is no optimizer {name}");
                let help = format!("there are auto, portfolio, {}", Optimizer::NAMES.join(", "));
                return Err(output::usage_error(message, help));
            }
        },
    };
    let used = apply(args, &mut method);
    let given = [
        ("--rate", args.rate.is_some()),
        ("--beta1", args.beta1.is_some()),
        ("--beta2", args.beta2.is_some()),
        ("--clip", args.clip.is_some()),
        ("--patience", args.patience.is_some()),
        ("--population", args.population.is_some()),
    ];
    match given.into_iter().find(|(option, given)| *given && !used.contains(option)) {
        Some((option, _)) => {
            let message = format!("{option} does not belong to the optimizer {name}");
            let help = "dmci fit --help says which optimizer it belongs to; name that with --optimizer";
            Err(output::usage_error(message, help))
        }
        None => Ok(method),
    }
}

/// Applies the options of an optimiser and gives the names of those that it has.
fn apply(args: &SearchArgs, method: &mut Method) -> &'static [&'static str] {
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(1 << 20);
    let population = args.population.map(count);
    match method {
        Method::One(Optimizer::Adam(o)) => {
            o.rate = args.rate.unwrap_or(o.rate);
            o.beta1 = args.beta1.unwrap_or(o.beta1);
            o.beta2 = args.beta2.unwrap_or(o.beta2);
            o.clip = args.clip;
            o.patience = args.patience.map_or(o.patience, count);
            &["--rate", "--beta1", "--beta2", "--clip", "--patience"]
        }
        Method::One(Optimizer::Descent(o)) => {
            o.rate = args.rate;
            &["--rate"]
        }
        Method::One(Optimizer::Cma(CmaOptions { population: p, .. })) => {
            *p = population;
            &["--population"]
        }
        Method::One(Optimizer::Differential(DifferentialOptions { population: p, .. })) => {
            *p = population;
            &["--population"]
        }
        Method::One(Optimizer::Evolution(EvolutionOptions { children, parents, .. })) => {
            if let Some(n) = population {
                (*children, *parents) = (n.max(2), (n / 2).max(1));
            }
            &["--population"]
        }
        Method::One(Optimizer::Sampling(SamplingOptions { points })) => {
            *points = population.unwrap_or(*points);
            &["--population"]
        }
        _ => &[],
    }
}

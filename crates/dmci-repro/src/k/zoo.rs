//! The zoo: many epidemic programs, judged after 60 steps, 300 steps and converged, and with each season left out; which
//! scores rank them as left-out seasons do, and whether the program that other seasons choose beats the baselines.

use super::calibrate::{Calibration, Point, STEPS};
use super::contract::{Epidemic, STAGES, Stage, check, shape_of};
use super::data::{Grid, LONG, PANDEMIC, Row, SHORT, Seasons, TEST, TRAINING, UNITS, VALIDATION};
use super::grammar::{self, COMPARTMENTS, words};
use super::score::{Spread, rmse, score};
use super::units::{Against, LeftOut, Units, against_all};
use super::written;
use crate::ask::Asked;
use crate::numbers::{Real, mean};
use crate::{Host, Settings};
use dmci::{Diagnostic, ErrorCode, Report};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

macro_rules! references {
    ($($file:literal),*) => {
        /// The six programs of the paper that others are compared with.
        pub const REFERENCES: [(&str, &str); 6] =
            [$(($file, include_str!(concat!("../../programs/k/references/", $file, ".scm")))),*];
    };
}

references!("sir-national", "sir-regional", "seir-national", "seir-regional", "seirs-national", "seirs-regional");

/// The reference that the paper compares with.
pub const SEIR: &str = "seir-regional";

/// The program of the zoo that was chosen on the other seasons.
pub const MECHANISM: &str = "program of the zoo";

/// The grids of scores.
pub const SCORED: [Grid; 2] = [SHORT, LONG];

/// Who wrote a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Author {
    /// The paper.
    Paper,
    /// The grammar.
    Grammar,
    /// A language model.
    Model,
}

/// What one calibration gives: its loss, and errors on both grids for validation, test and pandemic seasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The negative log-likelihood of the training seasons.
    pub loss: Real,
    /// Root mean square errors by grid.
    pub errors: [[Real; 3]; 2],
}

/// A program of the zoo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// Who wrote it.
    pub author: Author,
    /// Its recipe.
    pub recipe: Option<[usize; 5]>,
    /// Numbers that are fitted.
    pub numbers: usize,
    /// After 60 steps, after 300, and converged.
    pub budgets: Vec<Budget>,
    /// For each season that was left out: the loss of the others, and the errors on both grids.
    pub left_out: Vec<(u32, Real, [Real; 2])>,
}

impl Judged {
    /// The recipe in words.
    pub fn words(&self) -> String {
        self.recipe.as_ref().map_or_else(|| "as in the paper".into(), words)
    }

    /// The mean error on seasons that are neither validation nor sealed, each forecast without itself.
    pub fn skill(&self, grid: usize) -> f64 {
        let is_unseen = |year: u32| !VALIDATION.contains(&year) && !TEST.contains(&year);
        mean(self.left_out.iter().filter(|l| is_unseen(l.0)).map(|l| l.2[grid].0))
    }
}

/// How many texts left the funnel at each stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Funnel {
    /// Who wrote them.
    pub author: Author,
    /// By stage, at first.
    pub stages: Vec<usize>,
    /// Right after repairs.
    pub right: usize,
    /// Different bodies among these.
    pub shapes: usize,
}

/// What the zoo gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Zoo {
    /// The funnels of the grammar and of the language model.
    pub funnels: Vec<Funnel>,
    /// What was wrong with texts of the language model at first, and whether it was mended.
    pub faults: Vec<(String, String, bool)>,
    /// All programs.
    pub programs: Vec<Judged>,
    /// What became of the questions to the language model.
    pub asked: Asked,
    /// Why questions have no answer.
    pub unanswered: Vec<String>,
    /// The chosen program on each season that was left out; the sealed one last.
    pub left_out: Vec<LeftOut>,
    /// What was chosen: season, name, recipe, text.
    pub chosen: Vec<(u32, String, String, String)>,
    /// The chosen program beside the baselines.
    pub against: Vec<Against>,
}

/// How large a run is.
struct Size {
    /// Programs of the grammar.
    programs: usize,
    /// Steps of calibrations.
    steps: [usize; 2],
    /// Seasons that are left out.
    seasons: Vec<u32>,
    /// Programs that are chosen among, and seasons that choose.
    shortlist: usize,
    inner: usize,
}

impl Size {
    fn of(quick: bool) -> Size {
        let all = || UNITS.into_iter().chain(TEST);
        match quick {
            true => Size { programs: 8, steps: [5, 15], seasons: all().skip(11).collect(), shortlist: 2, inner: 2 },
            false => Size { programs: 310, steps: STEPS, seasons: all().collect(), shortlist: 8, inner: UNITS.len() },
        }
    }
}

/// A text that passed.
struct Passed {
    name: String,
    author: Author,
    recipe: Option<[usize; 5]>,
    text: String,
}

/// Proposals that are checked at once.
const CHUNK: u64 = 64;

/// Most proposals of the grammar.
const MOST_PROPOSALS: u64 = 6_400;

fn epidemic(passed: &Passed, data: &Seasons) -> Result<Epidemic, Report> {
    check(&passed.name, &passed.text, data).map_err(|fault| {
        let message = format!("{} passed the funnel once and not again: {}", passed.name, fault.message);
        Report::from(Diagnostic::error(ErrorCode::E9901, message))
    })
}

/// Programs of the grammar, each body once, until there are enough.
fn grown(data: &Seasons, wanted: usize) -> Result<(Vec<Passed>, Funnel), Report> {
    let zoo = grammar::Zoo::new()?;
    let (mut list, mut shapes) = (Vec::new(), BTreeSet::new());
    let mut funnel = Funnel { author: Author::Grammar, stages: vec![0; STAGES.len()], right: 0, shapes: 0 };
    let mut first = 0;
    while list.len() < wanted && first < MOST_PROPOSALS {
        let one = |number: u64| -> Result<(Stage, u64, grammar::Proposed), Report> {
            let proposed = zoo.propose(number)?;
            let stage = check("proposed", &proposed.text, data).err().map_or(Stage::Right, |f| f.stage);
            Ok((stage, number, proposed))
        };
        let chunk = CHUNK.min(4 * wanted as u64);
        let found: Vec<_> = (first..first + chunk).into_par_iter().map(one).collect::<Result<_, _>>()?;
        first += chunk;
        for (stage, number, proposed) in found {
            funnel.stages[stage as usize] += 1;
            if stage != Stage::Right || list.len() == wanted {
                continue;
            }
            funnel.right += 1;
            if shapes.insert(shape_of(&proposed.text)) {
                let name = format!("grammar {number}: {}", COMPARTMENTS[proposed.recipe[0]].0);
                let recipe = Some(proposed.recipe);
                list.push(Passed { name, author: Author::Grammar, recipe, text: proposed.text });
            }
        }
    }
    funnel.shapes = list.len();
    Ok((list, funnel))
}

/// The seasons of the tests but for some.
fn others(without: &[u32]) -> Vec<u32> {
    UNITS.iter().copied().filter(|year| !without.contains(year)).collect()
}

/// The errors of a program on some lists of seasons, in one call.
fn errors(
    calibration: &Calibration<'_>,
    data: &Seasons,
    grid: &Grid,
    lists: &[&[u32]],
    raws_of: &dyn Fn(u32) -> Vec<f64>,
) -> Result<Vec<Real>, Report> {
    let years = lists.concat();
    let rows = calibration.forecasts(grid, &years, raws_of)?;
    let each = grid.cases(&years[..1]).len();
    let mut from = 0;
    let one = |list: &&[u32]| {
        let to = from + each * list.len();
        let error = rmse(data, &grid.cases(list), &rows[from..to]);
        from = to;
        Real(if error.is_finite() { error } else { f64::INFINITY })
    };
    Ok(lists.iter().map(one).collect())
}

fn judge(passed: &Passed, data: &Seasons, size: &Size) -> Result<Judged, Report> {
    let epidemic = epidemic(passed, data)?;
    let calibration = Calibration::new(&epidemic, data, &TRAINING)?;
    let ends = calibration.after(&[TRAINING.to_vec()], &size.steps)?;
    let mut ends: Vec<Point> = ends.into_iter().flatten().collect();
    let last = ends.last().cloned().unwrap_or((f64::INFINITY, epidemic.raws.start.clone()));
    ends.push(calibration.converged(&TRAINING, &last)?);
    let mut budgets = Vec::new();
    for (loss, raws) in &ends {
        let mut both = [[Real(f64::NAN); 3]; 2];
        for (grid, row) in SCORED.iter().zip(&mut both) {
            let found = errors(&calibration, data, grid, &[&VALIDATION, &TEST, &PANDEMIC], &|_| raws.clone())?;
            row.copy_from_slice(&found);
        }
        budgets.push(Budget { loss: Real(*loss), errors: both });
    }
    let sets: Vec<Vec<u32>> = size.seasons.iter().map(|&year| others(&[year])).collect();
    let fits = calibration.after(&sets, &size.steps[1..])?.swap_remove(0);
    let of = |year: u32| size.seasons.iter().position(|y| *y == year).map(|at| fits[at].1.clone()).unwrap_or_default();
    let lists: Vec<&[u32]> = size.seasons.chunks(1).collect();
    let short = errors(&calibration, data, &SCORED[0], &lists, &of)?;
    let long = errors(&calibration, data, &SCORED[1], &lists, &of)?;
    let left_out = size.seasons.iter().zip(&fits).zip(short.into_iter().zip(long));
    Ok(Judged {
        name: passed.name.clone(),
        author: passed.author,
        recipe: passed.recipe,
        numbers: epidemic.raws.count(),
        budgets,
        left_out: left_out.map(|((year, fit), (a, b))| (*year, Real(fit.0), [a, b])).collect(),
    })
}

/// For each season: the mean error on some of the others, each forecast by a calibration that saw neither of the two.
fn inner_errors(passed: &Passed, data: &Seasons, size: &Size) -> Result<Vec<f64>, Report> {
    let epidemic = epidemic(passed, data)?;
    let calibration = Calibration::new(&epidemic, data, &TRAINING)?;
    let mut pairs: Vec<[u32; 2]> = Vec::new();
    let sorted = |a: u32, b: u32| [a.min(b), a.max(b)];
    for &season in &size.seasons {
        for inner in others(&[season]).into_iter().take(size.inner) {
            let pair = sorted(season, inner);
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    let sets: Vec<Vec<u32>> = pairs.iter().map(|pair| others(pair)).collect();
    let fits = calibration.after(&sets, &size.steps[1..])?.swap_remove(0);
    let mut list = Vec::new();
    for &season in &size.seasons {
        let years: Vec<u32> = others(&[season]).into_iter().take(size.inner).collect();
        let of = |year: u32| {
            let at = pairs.iter().position(|pair| *pair == sorted(season, year));
            at.map(|at| fits[at].1.clone()).unwrap_or_default()
        };
        let lists: Vec<&[u32]> = years.chunks(1).collect();
        list.push(mean(errors(&calibration, data, &SHORT, &lists, &of)?.into_iter().map(|e| e.0)));
    }
    Ok(list)
}

/// All scores of a program on a season, with everything learnt from others.
fn scored(passed: &Passed, data: &Seasons, size: &Size, season: u32) -> Result<LeftOut, Report> {
    let epidemic = epidemic(passed, data)?;
    let calibration = Calibration::new(&epidemic, data, &TRAINING)?;
    let training = others(&[season]);
    let fit = calibration.after(std::slice::from_ref(&training), &size.steps[1..])?.swap_remove(0).swap_remove(0).1;
    let forecasts =
        |years: &[u32]| -> Result<Vec<Row>, Report> { calibration.forecasts(&SHORT, years, &|_| fit.clone()) };
    let spread = Spread::of(data, &SHORT.cases(&training), &forecasts(&training)?);
    let score = score(data, &SHORT.cases(&[season]), &forecasts(&[season])?, &spread);
    Ok(LeftOut { season, method: MECHANISM.into(), score })
}

/// Runs it; the baselines on left-out seasons are those of the units.
pub fn run(settings: &Settings, host: &Host, data: &Seasons, units: &Units) -> Result<Zoo, Report> {
    let size = Size::of(settings.quick);
    let (mut passed, funnel) = grown(data, size.programs)?;
    let mut zoo = Zoo { funnels: vec![funnel], ..Zoo::default() };
    let (texts, asked, unanswered) = written::all(host.ask, data, settings.quick)?;
    (zoo.asked, zoo.unanswered) = (asked, unanswered);
    let mut funnel = Funnel { author: Author::Model, stages: vec![0; STAGES.len()], right: 0, shapes: 0 };
    let mut shapes = BTreeSet::new();
    for written::Written { name, recipe, mended } in texts {
        funnel.stages[mended.first as usize] += 1;
        let is_right = mended.last == Stage::Right;
        if mended.first != Stage::Right {
            zoo.faults.push((name.clone(), mended.message, is_right));
        }
        if is_right {
            funnel.right += 1;
            if shapes.insert(shape_of(&mended.program)) {
                funnel.shapes += 1;
                passed.push(Passed { name, author: Author::Model, recipe: Some(recipe), text: mended.program });
            }
        }
    }
    zoo.funnels.push(funnel);
    let reference = |(name, text): &(&str, &str)| Passed {
        name: name.to_string(),
        author: Author::Paper,
        recipe: None,
        text: text.to_string(),
    };
    passed.extend(REFERENCES.iter().map(reference));
    zoo.programs = passed.par_iter().map(|p| judge(p, data, &size)).collect::<Result<_, _>>()?;

    // Choices among programs that explain the other seasons best, by how they forecast these.
    let loss = |program: usize, at: usize| zoo.programs[program].left_out[at].1.0;
    let shortlists: Vec<Vec<usize>> = (0..size.seasons.len())
        .map(|at| {
            let mut list: Vec<usize> = (0..passed.len()).collect();
            list.sort_by(|&a, &b| loss(a, at).total_cmp(&loss(b, at)));
            list.truncate(size.shortlist);
            list
        })
        .collect();
    let mut union: Vec<usize> = shortlists.concat();
    union.sort_unstable();
    union.dedup();
    let found: Vec<Vec<f64>> =
        union.par_iter().map(|&p| inner_errors(&passed[p], data, &size)).collect::<Result<_, _>>()?;
    let inner = |program: usize, at: usize| {
        let place = union.iter().position(|p| *p == program);
        place.map_or(f64::INFINITY, |place| found[place][at])
    };
    let best = |at: usize| shortlists[at].iter().copied().min_by(|&a, &b| inner(a, at).total_cmp(&inner(b, at)));
    let choices: Vec<(u32, usize)> =
        size.seasons.iter().enumerate().filter_map(|(at, &season)| Some((season, best(at)?))).collect();
    zoo.left_out = choices
        .par_iter()
        .map(|&(season, program)| scored(&passed[program], data, &size, season))
        .collect::<Result<_, _>>()?;
    for (season, program) in choices {
        let Passed { name, text, .. } = &passed[program];
        zoo.chosen.push((season, name.clone(), zoo.programs[program].words(), text.clone()));
    }
    let tested: Vec<LeftOut> = zoo.left_out.iter().filter(|l| !TEST.contains(&l.season)).cloned().collect();
    zoo.against = against_all(MECHANISM, &tested, &units.left_out);
    Ok(zoo)
}

//! The reference structures on the honest task: each is fitted to the known cycles of a test cell, with normal priors on
//! its raw numbers whose middles and widths come from the fits of training cells.

use super::curves::{Curves, PINNED, STRUCTURES};
use super::data::Cell;
use crate::numbers::median;
use dmci::Report;
use rayon::prelude::*;

/// Cycles between places of the grid, so that the starting values of programs, which are for a hundred places, fit lives
/// of a thousand cycles.
const STEP: f64 = 10.0;

/// Places up to which a curve is followed.
const PLACES: usize = 300;

/// The least width of a prior.
const LEAST_WIDTH: f64 = 0.05;

/// Half of a normal distribution lies within this share of its width.
const HALF: f64 = 0.6745;

/// A structure with the fits of all cells that have a life.
struct Pool {
    name: &'static str,
    curves: Curves,
    /// Raw numbers by cell, from the whole record.
    fits: Vec<Option<Vec<f64>>>,
}

/// All reference structures, and the cells on a grid of absolute cycles.
#[derive(Default)]
pub struct Pools {
    pools: Vec<Pool>,
    grids: Vec<Vec<f64>>,
}

/// A cell of which only the cycles up to one are known, and the share of the first capacity at which its life ends.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its number.
    pub cell: usize,
    /// The last known cycle.
    pub until: f64,
    /// The share at which its life ends.
    pub end: f64,
}

/// Shares of the first capacity at every tenth cycle, as far as the record goes: each is the last one that was measured.
fn grid(cell: &Cell) -> Vec<f64> {
    let health = cell.health();
    let last = cell.cycles.last().copied().unwrap_or(0.0);
    let mut row = 0;
    (0..PLACES)
        .map(|k| STEP * k as f64)
        .take_while(|cycle| *cycle <= last)
        .map(|cycle| {
            while row + 1 < health.len() && cell.cycles[row + 1] <= cycle {
                row += 1;
            }
            health[row]
        })
        .collect()
}

impl Pools {
    /// Fits every structure to the whole record of every cell that has a life.
    pub fn new(cells: &[Cell]) -> Result<Pools, Report> {
        let grids: Vec<Vec<f64>> = cells.iter().map(grid).collect();
        let lived: Vec<usize> = (0..cells.len()).filter(|&i| cells[i].life.is_some() && grids[i].len() > 2).collect();
        let pool = |structure: &super::curves::Structure| -> Result<Pool, Report> {
            let curves = Curves::new(structure, PLACES)?;
            let targets: Vec<&[f64]> = lived.iter().map(|&i| &grids[i][..]).collect();
            let found = curves.converged(&targets, &curves.unfitted(targets.len()))?;
            let mut fits = vec![None; cells.len()];
            lived.iter().zip(found.raws).for_each(|(&i, raws)| fits[i] = Some(raws));
            Ok(Pool { name: structure.name, curves, fits })
        };
        let references: Vec<_> = STRUCTURES.iter().filter(|s| s.name != PINNED).collect();
        let pools = references.into_par_iter().map(pool).collect::<Result<_, _>>()?;
        Ok(Pools { pools, grids })
    }

    /// The names of the structures.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.pools.iter().map(|p| p.name)
    }

    /// Lives of cells by a structure, with priors from training cells. Nothing is read behind the last known cycle.
    pub fn lives(&self, structure: usize, training: &[usize], known: &[Known]) -> Result<Vec<f64>, Report> {
        let Pool { curves, fits, .. } = &self.pools[structure];
        let fits: Vec<&Vec<f64>> = training.iter().filter_map(|&i| fits[i].as_ref()).collect();
        let column = |k: usize| fits.iter().map(|raws| raws[k]).filter(|x| x.is_finite()).collect::<Vec<f64>>();
        let middles: Vec<f64> = (0..curves.width()).map(|k| median(column(k))).collect();
        let width = |k: usize| {
            let apart = median(column(k).iter().map(|x| (x - middles[k]).abs()));
            (apart / HALF).max(LEAST_WIDTH)
        };
        let widths: Vec<f64> = (0..curves.width()).map(width).collect();
        let one = |cell: &Known| -> Result<f64, Report> {
            let grid = &self.grids[cell.cell];
            let places = ((cell.until / STEP) as usize + 1).min(grid.len());
            let raws = curves.with_prior(&grid[..places], &middles, &widths)?;
            let curve = curves.curves(&[raws], PLACES)?.swap_remove(0);
            Ok(life(&curve, places, cell))
        };
        known.par_iter().map(one).collect()
    }
}

/// The cycle at which a curve falls below the end, behind what is known.
fn life(curve: &[f64], places: usize, cell: &Known) -> f64 {
    let after = (places..curve.len()).find(|&k| curve[k] < cell.end);
    let Some(k) = after else { return STEP * curve.len() as f64 };
    let (before, now) = (curve[k - 1], curve[k]);
    let share = if before > cell.end { (before - cell.end) / (before - now) } else { 0.0 };
    (STEP * ((k - 1) as f64 + share)).max(cell.until)
}

#[cfg(test)]
mod tests {
    use super::super::data::read;
    use super::super::data::tests::invented;
    use super::*;

    /// Straight lines are continued to where they end; what lies behind the last known cycle changes nothing.
    #[test]
    fn lives_follow_from_what_is_known() {
        let (fade, list) = invented(12);
        let mut cells = read(&fade, &list).unwrap();
        let training: Vec<usize> = (0..11).collect();
        let known = [Known { cell: 11, until: 150.0, end: 0.8 }];
        let lives = |cells: &[Cell]| -> Vec<f64> {
            let pools = Pools::new(cells).unwrap();
            (0..pools.names().count()).map(|s| pools.lives(s, &training, &known).unwrap()[0]).collect()
        };
        let found = lives(&cells);
        let true_life = cells[11].life.unwrap();
        // Powers hold lines; square roots do not.
        assert!((found[1] - true_life).abs() < 0.15 * true_life, "{found:?} {true_life}");
        let after = cells[11].cycles.iter().position(|n| *n > 155.0).unwrap();
        cells[11].capacities[after..].iter_mut().for_each(|q| *q *= 0.99);
        assert_eq!(lives(&cells), found);
    }
}

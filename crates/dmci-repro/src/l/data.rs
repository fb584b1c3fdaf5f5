//! Capacity of battery cells by cycle (Severson et al. 2019), on the paper's grids and as they are.

use dmci::{Diagnostic, ErrorCode, Report};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Capacities by cell and cycle, below the shared folder.
pub const FADE: &str = "data/battery_severson2019/capacity_fade.csv";

/// One row for each cell.
pub const CELLS: &str = "data/battery_severson2019/cells.csv";

/// Points of a grid.
pub const GRID: usize = 100;

/// The share of the first capacity at which a life ends in the paper.
const END: f64 = 0.8;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its name: batch and channel.
    pub name: String,
    /// Its batch.
    pub batch: String,
    /// Its cycles.
    pub cycles: Vec<f64>,
    /// Its capacities, in Ah.
    pub capacities: Vec<f64>,
    /// The published life: the first cycle below 0.88 Ah.
    pub life: Option<f64>,
}

fn broken(message: String) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0702, message).help("dmci data says where to get the files"))
}

/// The cells that the paper's rules keep: capacities that are finite and above 0, no share of the first one above
/// 1.25, one below 0.98, at least ten cycles.
pub fn read(fade: &str, cells: &str) -> Result<Vec<Cell>, Report> {
    let mut lives = BTreeMap::new();
    let head: Vec<&str> = cells.lines().next().unwrap_or_default().split(',').collect();
    let place = |name: &str| {
        head.iter().position(|c| *c == name).ok_or_else(|| broken(format!("{CELLS} has no column {name}")))
    };
    let (cell, life) = (place("cell")?, place("cycle_life")?);
    for line in cells.lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        let (Some(name), Some(text)) = (row.get(cell), row.get(life)) else {
            return Err(broken(format!("{CELLS}: {line:?} has too few cells")));
        };
        lives.insert(name.to_string(), text.parse::<f64>().ok());
    }
    let mut list: Vec<Cell> = Vec::new();
    for (number, line) in fade.lines().enumerate().skip(1) {
        let wrong = || broken(format!("{FADE}:{}: expected cell,cycle,capacity, got {line:?}", number + 1));
        let mut row = line.split(',');
        let (Some(name), Some(cycle), Some(capacity)) = (row.next(), row.next(), row.next()) else {
            return Err(wrong());
        };
        let cycle: f64 = cycle.parse().map_err(|_| wrong())?;
        let capacity: f64 = capacity.parse().map_err(|_| wrong())?;
        if list.last().is_none_or(|c| c.name != name) {
            let batch = name.split('c').next().unwrap_or_default().to_string();
            let life = lives.get(name).copied().flatten().filter(|x| x.is_finite());
            list.push(Cell { name: name.into(), batch, cycles: Vec::new(), capacities: Vec::new(), life });
        }
        if let Some(cell) = list.last_mut()
            && capacity.is_finite()
            && capacity > 0.0
        {
            cell.cycles.push(cycle);
            cell.capacities.push(capacity);
        }
    }
    list.retain(Cell::is_kept);
    Ok(list)
}

impl Cell {
    /// Shares of the first capacity.
    pub fn health(&self) -> Vec<f64> {
        self.capacities.iter().map(|q| q / self.capacities[0]).collect()
    }

    /// The number of the row where the life ends, as the paper has it: the first share of 0.8, or the last row.
    fn end(&self) -> usize {
        let health = self.health();
        health.iter().position(|&x| x <= END).unwrap_or(health.len().saturating_sub(1))
    }

    fn is_kept(&self) -> bool {
        if self.capacities.len() < 10 {
            return false;
        }
        let health = self.health();
        let (low, high) = health.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &x| (l.min(x), h.max(x)));
        high <= 1.25 && low <= 0.98 && self.end() >= 5
    }

    /// The share of the first capacity at equal steps from the first row to the end of life.
    pub fn by_life(&self) -> Vec<f64> {
        let (health, end) = (self.health(), self.end());
        let at = |k: usize| {
            let place = end as f64 * k as f64 / (GRID - 1) as f64;
            let low = (place as usize).min(end - 1);
            health[low] + (place - low as f64) * (health[low + 1] - health[low])
        };
        (0..GRID).map(at).collect()
    }

    /// The first hundred cycles, the last one repeated if there are fewer.
    pub fn by_cycle(&self) -> Vec<f64> {
        let health = self.health();
        (0..GRID).map(|k| health[k.min(health.len() - 1)]).collect()
    }

    /// The first cycle at which the median of the last five shares is below a level. Nothing later is read.
    pub fn reaches(&self, level: f64) -> Option<f64> {
        let health = self.health();
        (0..health.len()).find_map(|i| {
            let mut last = health[(i + 1).saturating_sub(5)..=i].to_vec();
            last.sort_by(f64::total_cmp);
            let n = last.len();
            let median = if n % 2 == 1 { last[n / 2] } else { (last[n / 2 - 1] + last[n / 2]) / 2.0 };
            (median < level).then(|| self.cycles[i])
        })
    }
}

/// Health of all cells on both grids, as CSV.
pub fn table(cells: &[Cell]) -> String {
    let mut text = "cell,place,health_by_life,health_by_cycle\n".to_string();
    for cell in cells {
        for (k, (a, b)) in cell.by_life().into_iter().zip(cell.by_cycle()).enumerate() {
            let _ = writeln!(text, "{},{k},{a:?},{b:?}", cell.name);
        }
    }
    text
}

#[cfg(test)]
pub(in crate::l) mod tests {
    use super::*;

    /// Tables of cells that fade along a straight line until they are at 0.79, each at its own speed.
    pub(in crate::l) fn invented(cells: usize) -> (String, String) {
        let (mut fade, mut list) = ("cell,cycle,qd_ah\n".to_string(), "cell,batch_date,cycle_life\n".to_string());
        for i in 0..cells {
            let name = format!("b{}c{i}", 1 + i % 3);
            let speed = 1.0 / (300.0 + 20.0 * i as f64);
            let mut life = 0;
            for cycle in 2..2000 {
                let capacity = 1.1 * (1.0 - 0.5 * speed * (cycle - 2) as f64);
                if capacity < 0.88 && life == 0 {
                    life = cycle;
                }
                if capacity < 0.869 {
                    break;
                }
                fade += &format!("{name},{cycle},{capacity}\n");
            }
            list += &format!("{name},x,{life}\n");
        }
        (fade, list)
    }

    #[test]
    fn grids_run_from_the_first_cycle_to_the_end_of_life() {
        let (fade, cells) = invented(4);
        let cells = read(&(fade + "b9c1,2,1.0\nb9c1,3,nan\n"), &cells).unwrap();
        assert_eq!(cells.len(), 4);
        let grid = cells[1].by_life();
        assert!((grid[0] - 1.0).abs() < 1e-12 && grid[99] <= 0.8 && grid[99] > 0.79, "{grid:?}");
        assert!((grid[50] - (grid[0] + grid[99]) / 2.0).abs() < 2e-3);
        assert!((cells[0].reaches(0.95).unwrap() - 34.5).abs() <= 1.5, "{:?}", cells[0].reaches(0.95));
        assert!(cells[2].life.unwrap() > 100.0 && cells[2].batch == "b3");
    }

    #[test]
    fn what_lies_after_a_level_does_not_move_it() {
        let (fade, cells) = invented(1);
        let mut cell = read(&fade, &cells).unwrap().remove(0);
        let before = cell.reaches(0.95).unwrap();
        let after = cell.cycles.iter().position(|&n| n > before).unwrap();
        cell.capacities[after..].iter_mut().for_each(|q| *q = 1.2);
        assert_eq!(cell.reaches(0.95), Some(before));
        assert!(read("cell,cycle,qd_ah\nb1c0,2\n", "cell,cycle_life\n").is_err());
    }
}

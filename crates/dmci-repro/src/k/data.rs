//! Weekly influenza-like illness of the nation and ten regions, by season.

use dmci::{Diagnostic, ErrorCode, Report};
use std::collections::BTreeMap;

/// Series: the nation, and ten regions.
pub const REGIONS: usize = 11;

/// Weeks of a season that are used: a 53rd is left out.
pub const WEEKS: usize = 52;

/// Where the data lie below the shared folder.
pub const PATH: &str = "data/flu_ilinet/wili_weekly.csv";

/// One number for each series.
pub type Row = [f64; REGIONS];

/// Seasons that programs are calibrated on in the paper.
pub const TRAINING: [u32; 8] = [2010, 2011, 2012, 2013, 2014, 2015, 2016, 2017];

/// Seasons that programs are selected on in the paper.
pub const VALIDATION: [u32; 3] = [2018, 2021, 2022];

/// The sealed season.
pub const TEST: [u32; 1] = [2023];

/// The pandemic season.
pub const PANDEMIC: [u32; 1] = [2020];

/// Seasons that are left out one at a time.
pub const UNITS: [u32; 12] = [2010, 2011, 2012, 2013, 2014, 2015, 2016, 2017, 2018, 2019, 2021, 2022];

/// The seasons from 2010 on, as shares of visits; week 0 is week 40 of the year.
#[derive(Clone, Debug, PartialEq)]
pub struct Seasons {
    seasons: BTreeMap<u32, Vec<Row>>,
    /// The hash of the text.
    pub hash: String,
}

fn broken(message: String) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message))
}

impl Seasons {
    /// Reads the table: `season`, `year`, `week`, `week_ending` and a percentage for each series.
    pub fn read(text: &str) -> Result<Seasons, Report> {
        let mut seasons: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
        for (number, line) in text.lines().enumerate().skip(1) {
            let wrong = |what: &str| broken(format!("{PATH}, line {}: {what}", number + 1));
            let cells: Vec<&str> = line.trim().split(',').collect();
            if cells.len() != 4 + REGIONS {
                return Err(wrong(&format!("{} cells instead of {}", cells.len(), 4 + REGIONS)));
            }
            let season: u32 = cells[0]
                .get(..4)
                .and_then(|y| y.parse().ok())
                .ok_or_else(|| wrong(&format!("{} is not a season such as 2010-11", cells[0])))?;
            if season < TRAINING[0] {
                continue;
            }
            let mut row = [0.0; REGIONS];
            for (x, cell) in row.iter_mut().zip(&cells[4..]) {
                let percent: f64 = cell.parse().map_err(|_| wrong(&format!("{cell} is not a number")))?;
                *x = percent / 100.0;
            }
            seasons.entry(season).or_default().push(row);
        }
        for year in UNITS.iter().chain(&PANDEMIC).chain(&TEST) {
            let weeks = seasons.get_mut(year).ok_or_else(|| broken(format!("{PATH}: season {year} is missing")))?;
            if weeks.len() < WEEKS {
                return Err(broken(format!("{PATH}: season {year} has {} weeks instead of {WEEKS}", weeks.len())));
            }
            weeks.truncate(WEEKS);
        }
        Ok(Seasons { seasons, hash: dmci_table::hash::of_text(text) })
    }

    /// The weeks of a season.
    pub fn season(&self, year: u32) -> &[Row] {
        &self.seasons[&year]
    }

    /// All seasons as CSV: the season, its week from 0, and the shares.
    pub fn table(&self) -> String {
        let mut text = "season,week".to_string();
        (0..REGIONS).for_each(|r| text += &format!(",series{r}"));
        for (season, weeks) in &self.seasons {
            for (week, row) in weeks.iter().enumerate() {
                text += &format!("\n{season},{week}");
                row.iter().for_each(|x| text += &format!(",{x:?}"));
            }
        }
        text + "\n"
    }

    /// How many seasons there are.
    pub fn count(&self) -> usize {
        self.seasons.len()
    }

    /// The mean of some seasons, by week and series.
    pub fn climatology(&self, years: &[u32]) -> Vec<Row> {
        let mut mean = vec![[0.0; REGIONS]; WEEKS];
        for &year in years {
            for (sum, row) in mean.iter_mut().zip(self.season(year)) {
                sum.iter_mut().zip(row).for_each(|(s, x)| *s += x / years.len() as f64);
            }
        }
        mean
    }
}

/// A season, the last week that is known, and how many weeks ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The season.
    pub year: u32,
    /// The last week that is known.
    pub origin: usize,
    /// Weeks ahead.
    pub horizon: usize,
}

/// Origins and horizons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// A short name for tables.
    pub name: &'static str,
    /// Weeks ahead.
    pub horizons: &'static [usize],
    /// Weeks from one origin to the next.
    pub stride: usize,
}

/// The paper's horizons of one to four weeks.
pub const SHORT: Grid = Grid { name: "1-4 weeks, stride 3", horizons: &[1, 2, 3, 4], stride: 3 };
/// The long horizons of the paper's search.
pub const LONG: Grid = Grid { name: "8, 12, 16 weeks, stride 10", horizons: &[8, 12, 16], stride: 10 };
/// The short horizons at every origin.
pub const EVERY: Grid = Grid { name: "1-4 weeks, stride 1", horizons: &[1, 2, 3, 4], stride: 1 };

/// The grids of the tables.
pub const GRIDS: [Grid; 3] = [SHORT, LONG, EVERY];

impl Grid {
    /// The origins: from week 8 on, as long as the longest horizon ends within the season.
    pub fn origins(&self) -> impl Iterator<Item = usize> + use<> {
        let longest = self.horizons.iter().copied().max().unwrap_or(0);
        (8..WEEKS - longest).step_by(self.stride)
    }

    /// All cases of some seasons: by season, then origin, then horizon.
    pub fn cases(&self, years: &[u32]) -> Vec<Case> {
        let mut list = Vec::new();
        for &year in years {
            for origin in self.origins() {
                list.extend(self.horizons.iter().map(|&horizon| Case { year, origin, horizon }));
            }
        }
        list
    }
}

#[cfg(test)]
pub(in crate::k) mod tests {
    use super::*;

    /// A table like that of the data, with values of which all depend on season, week and series.
    pub(in crate::k) fn invented() -> String {
        let mut text = String::from("season,year,week,week_ending");
        (0..REGIONS).for_each(|r| text += &format!(",r{r}"));
        for year in 2009..=2023u32 {
            for week in 0..if year == 2014 { 53 } else { 52 } {
                text += &format!("\n{year}-{:02},{year},{week},x", (year + 1) % 100);
                for r in 0..REGIONS {
                    let z = (week as f64 - 18.0 - f64::from(year % 5) - 0.3 * r as f64) / 6.0;
                    let level = 1.0 + 0.1 * r as f64 + (2.0 + f64::from(year % 3)) * (-z * z / 2.0).exp();
                    text += &format!(",{}", level + 0.05 * (((week * 7 + r * 3) % 5) as f64 - 2.0));
                }
            }
        }
        text
    }

    #[test]
    fn seasons_have_52_weeks_of_shares() {
        let seasons = Seasons::read(&invented()).unwrap();
        assert_eq!(seasons.season(2014).len(), WEEKS);
        assert!((seasons.season(2010)[0][0] - 0.009).abs() < 1e-3);
        let mean = seasons.climatology(&[2010, 2011]);
        let both = (seasons.season(2010)[20][3] + seasons.season(2011)[20][3]) / 2.0;
        assert!((mean[20][3] - both).abs() < 1e-15);
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said_with_its_line() {
        let told = |text: &str| Seasons::read(text).unwrap_err().render(false);
        assert!(told(&invented().replacen("2016-17,2016,5,x,", "2016-17,2016,5,x,a", 1)).contains("is not a number"));
        assert!(told(&invented().replacen("\n2016-17,2016,5,x,", "\n2016-17,2016,", 1)).contains("13 cells"));
        assert!(told("season\n").contains("2010 is missing"));
    }

    #[test]
    fn origins_leave_room_for_the_longest_horizon() {
        assert_eq!(SHORT.origins().collect::<Vec<_>>(), [8, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47]);
        assert_eq!(LONG.origins().collect::<Vec<_>>(), [8, 18, 28]);
        assert_eq!(EVERY.cases(&[2010, 2011]).len(), 2 * 40 * 4);
    }
}

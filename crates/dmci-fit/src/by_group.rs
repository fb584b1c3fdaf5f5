//! Parameters that differ by group: where each group starts, and those that stay there.

use crate::layout::Layout;
use crate::problem::raw_start;
use dmci::ErrorCode;
use dmci::{Column, Datum, Diagnostic, Names, Parameter, Program, Report, Shape};

/// Where a parameter starts in one group. Groups without such a start take that of the parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupStart {
    /// The name of the parameter.
    pub parameter: String,
    /// The name of the group.
    pub group: String,
    /// Its number, or its numbers.
    pub start: Datum,
}

/// A parameter that is not fitted and has numbers of its own in every group: an input of the program, as the search
/// sees it.
#[derive(Clone, Debug)]
pub struct Held {
    /// The parameter as each group has it.
    pub groups: Vec<Parameter>,
}

impl Held {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.groups[0].name
    }

    /// The parameter in a group; a row without one is left out, whatever it has here.
    pub(crate) fn of(&self, group: usize) -> &Parameter {
        self.groups.get(group).unwrap_or(&self.groups[0])
    }

    /// Its values in lanes of these groups.
    pub(crate) fn column(&self, groups: &[usize]) -> Column {
        let lanes = groups.iter().map(|&g| self.of(g));
        match self.groups[0].shape {
            Shape::Scalar => Column::Reals(lanes.map(|p| p.init).collect()),
            _ => Column::Data(lanes.map(Parameter::datum).collect()),
        }
    }
}

/// The parameters that are fixed for all groups alike, and those for which groups have starts of their own.
pub(crate) fn apart(fixed: Vec<Parameter>, starts: &[GroupStart]) -> (Vec<Parameter>, Vec<Parameter>) {
    let alike = |p: &Parameter| p.per.is_none() || starts.iter().all(|s| s.parameter != p.name);
    fixed.into_iter().partition(alike)
}

/// A parameter as it starts in each group.
fn in_groups(parameter: &Parameter, groups: &[String], starts: &[GroupStart]) -> Result<Vec<Parameter>, Report> {
    let in_group = |group: &String| {
        let mut own = parameter.clone();
        let start = starts.iter().find(|s| s.parameter == own.name && s.group == *group);
        if start.is_some_and(|s| !own.set_start(&s.start)) {
            let message = format!("the start of {} in the group {group} has another shape", own.name);
            let help = "start from a fit of a program with the same parameters";
            return Err(Report::from(Diagnostic::error(ErrorCode::E0701, message).help(help)));
        }
        Ok(own)
    };
    groups.iter().map(in_group).collect()
}

/// The parameters that stay as they are, in every group.
pub(crate) fn held(
    parameters: &[Parameter],
    groups: &[String],
    starts: &[GroupStart],
    names: &Names,
) -> Result<Vec<Held>, Report> {
    let is_noise = |p: &&Parameter| ["df", "dispersion"].contains(&p.name.as_str()) && !names.used.contains(&p.name);
    if let Some(noise) = parameters.iter().find(is_noise) {
        let message = format!("{} differs by group and is not fitted: noise cannot have that", noise.name);
        let help = format!("fit it too, or give it one value with ‹start {}=...›", noise.name);
        return Err(Report::from(Diagnostic::error(ErrorCode::E0806, message).help(help)));
    }
    parameters.iter().map(|p| Ok(Held { groups: in_groups(p, groups, starts)? })).collect()
}

/// The raw numbers of the starts of all parameters, for every group, and the starts as they are written.
pub(crate) fn starts_of(
    program: &Program,
    parameters: &[Parameter],
    layout: &Layout,
    groups: &[String],
    starts: &[GroupStart],
) -> Result<(Vec<f64>, Vec<f64>), Report> {
    let (mut raw, mut written) = (Vec::new(), Vec::new());
    for (parameter, block) in parameters.iter().zip(&layout.blocks) {
        let all = if block.per_group { in_groups(parameter, groups, starts)? } else { vec![parameter.clone()] };
        for parameter in all {
            raw.extend(raw_start(program, &parameter, block.transform)?);
            written.extend(parameter.starts);
        }
    }
    Ok((raw, written))
}

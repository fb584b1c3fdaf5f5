//! From names to numbers: parameters from the schema, inputs and target from the table.

use crate::groups::left_out;
use crate::layout::Layout;
use crate::loss::{Loss, Noise};
use crate::prior::Density;
use crate::problem::Rows;
use dmci::ErrorCode;
use dmci::{
    Column, Datum, Diagnostic, Interpreter, Mode, Names, Parameter, ParameterKind, Program, Report, RunOptions, Schema,
    Shape,
};
use dmci_table::{Table, TableColumn};

/// The columns that a fit needs.
pub struct Bound {
    /// Names and values of the program's inputs.
    pub inputs: Vec<(String, Column)>,
    /// The numbers to predict, column by column.
    pub targets: Vec<Vec<f64>>,
    /// How much each row counts.
    pub weight: Vec<f64>,
    /// Standard deviations of the rows.
    pub sigma: Vec<f64>,
    /// Trials of the rows.
    pub trials: Vec<f64>,
    /// Rows in which an input has no value: the program cannot be run for them.
    pub unusable: Vec<usize>,
}

/// The parameters to fit and those that are fixed. A binding of a parameter is its new start, and is
/// taken out of the run's bindings.
pub fn parameters(
    program: &Program,
    schema: &Schema,
    run: &mut RunOptions,
    only: Option<&[String]>,
) -> Result<(Vec<Parameter>, Vec<Parameter>), Report> {
    let mut list = schema.parameters.clone();
    if let Some(only) = only {
        if let Some(unknown) = only.iter().find(|name| schema.find(name).is_none()) {
            let names: Vec<&str> = list.iter().map(|p| p.name.as_str()).collect();
            let error =
                Diagnostic::error(ErrorCode::E0801, format!("{} declares no parameter {unknown}", program.name));
            return Err(Report::from(error.help(format!("its parameters are {}", names.join(", ")))));
        }
        list.iter_mut().filter(|p| !only.contains(&p.name)).for_each(|p| p.fixed = true);
    }
    for parameter in &mut list {
        check_options(program, parameter)?;
        let Some(i) = run.bindings.iter().rposition(|(name, _)| *name == parameter.name) else { continue };
        let (name, datum) = run.bindings.remove(i);
        run.bindings.retain(|(other, _)| *other != name);
        if !parameter.set_start(&datum) {
            let expected = match parameter.shape {
                Shape::Scalar => "a number".to_string(),
                shape => format!("{} numbers", shape.len()),
            };
            let error = Diagnostic::error(ErrorCode::E0701, format!("the parameter {name} must start at {expected}"));
            return Err(Report::from(error.help(format!("write ‹start {name}=1.5›, for example"))));
        }
    }
    let (fixed, fitted): (Vec<Parameter>, Vec<Parameter>) = list.into_iter().partition(|p| p.fixed);
    if fitted.is_empty() {
        let (message, help) = if fixed.is_empty() {
            let message = format!("{} declares no parameters to fit", program.name);
            let help = "declare them, for example (params (a positive 1.0) (b unit 0.3)); or fit its reals with ‹params literals›";
            (message, help)
        } else {
            let message = format!("all parameters of {} are fixed", program.name);
            (message, "remove the word fixed from those that are to be fitted")
        };
        return Err(Report::from(Diagnostic::error(ErrorCode::E0801, message).help(help)));
    }
    Ok((fitted, fixed))
}

/// Refuses what a fit would have to ignore.
fn check_options(program: &Program, parameter: &Parameter) -> Result<(), Report> {
    let name = &parameter.name;
    if parameter.kind == ParameterKind::Unknown {
        let error = Diagnostic::error(ErrorCode::E0803, format!("a fit does not know the kind of {name}"));
        let help = "the kinds are free, positive, unit, signed-unit, (bounded low high) and (log low high)";
        return Err(parameter.report(program, error.help(help)));
    }
    if parameter.options.iter().any(|o| o == "unquote") {
        let error = Diagnostic::error(ErrorCode::E0803, format!("a number of {name} has a decimal comma"));
        return Err(parameter.report(program, error.help("write a decimal point: 1.0, not 1,0")));
    }
    // Units of measurement are for `check_units`.
    if let Some(option) = parameter.options.iter().find(|o| !["unit", "per"].contains(&o.as_str())) {
        let error =
            Diagnostic::error(ErrorCode::E0803, format!("a fit does not know the option ({option} ...) of {name}"));
        return Err(parameter.report(program, error.help("remove it; a scale and the word fixed are known")));
    }
    if matches!(parameter.kind, ParameterKind::Bounded(..) | ParameterKind::Log(..)) && parameter.scale.is_some() {
        let error = Diagnostic::error(ErrorCode::E0803, format!("{name} has bounds and a scale"));
        return Err(parameter.report(program, error.help("remove the scale: the bounds say how large it is")));
    }
    Ok(())
}

/// Refuses columns that the loss does not read: weights, standard deviations and trials.
pub fn check_aside(loss: &Loss, [weights, sigma, trials]: &[Option<String>; 3]) -> Result<(), Report> {
    let weighs = *loss != Loss::Objective;
    for (column, what, used, help) in [
        (weights, "weights", weighs, "let the program weigh its rows itself"),
        (sigma, "standard deviations", loss.uses_sigma(), "take the gaussian or student-t loss, or no such column"),
        (trials, "trials", loss.uses_trials(), "take the binomial loss, or no such column"),
    ] {
        let Some(column) = column.as_ref().filter(|_| !used) else { continue };
        let loss = if weighs { format!("the {} loss", loss.name()) } else { "an objective".into() };
        let message = format!("{loss} does not use a column of {what}, got {column}");
        return Err(Report::from(Diagnostic::error(ErrorCode::E0813, message).help(help)));
    }
    Ok(())
}

/// Refuses rows of which none counts.
pub fn check_weights(table: &Table, column: &Option<String>, rows: &Rows) -> Result<(), Report> {
    match column {
        Some(column) if rows.weight.iter().all(|w| *w == 0.0) => {
            let message = format!("all weights are zero: {} has 0 as {column} in every row to fit", table.name);
            let help = "give some rows a weight above 0, or leave out ‹weights›";
            Err(Report::from(Diagnostic::error(ErrorCode::E0801, message).help(help)))
        }
        _ => Ok(()),
    }
}

/// The parameters that describe noise, fitted or fixed: those with the names of noise that the program does not read;
/// and what a fixed sigma multiplies standard deviations with.
pub fn noise(
    program: &Program,
    loss: &Loss,
    names: &Names,
    (parameters, fixed): (&[Parameter], &[Parameter]),
    layout: &Layout,
    [_, sigma, trials]: &[Option<String>; 3],
) -> Result<(Noise, f64), Report> {
    let index = |name: &str| {
        let i = parameters.iter().position(|p| p.name == name && p.shape == Shape::Scalar)?;
        (!names.used.contains(&name.to_string())).then(|| layout.blocks[i].value)
    };
    let fixed = |name: &str| {
        let is_noise = |p: &&Parameter| p.name == name && p.shape == Shape::Scalar && !names.used.contains(&p.name);
        fixed.iter().find(is_noise).map(|p| p.init)
    };
    let wrong =
        |message: String, help: &str| Err(Report::from(Diagnostic::error(ErrorCode::E0806, message).help(help)));
    let mut noise = Noise::default();
    let mut factor = 1.0;
    match loss {
        Loss::Gaussian | Loss::StudentT(_) => {
            noise.sigma = index("sigma");
            let known = fixed("sigma");
            factor = known.unwrap_or(1.0);
            if noise.sigma.is_none() && sigma.is_none() && known.is_none() {
                let message = format!("the {} loss needs the size of the noise", loss.name());
                let help = "name a column with ‹sigma›, or declare (sigma positive 1.0) in (params ...); if all rows \
                            have the same unknown noise, --loss mse gives the same fit";
                return wrong(message, help);
            }
            if matches!(loss, Loss::StudentT(_)) {
                noise.degrees = index("df");
                noise.fixed.0 = fixed("df");
            }
        }
        Loss::NegativeBinomial => {
            noise.dispersion = index("dispersion");
            noise.fixed.1 = fixed("dispersion");
            if noise.dispersion.is_none() && noise.fixed.1.is_none() {
                let message = format!(
                    "the negative-binomial loss needs a parameter dispersion, which {} does not declare",
                    program.name
                );
                return wrong(message, "declare (dispersion positive 1.0) in (params ...)");
            }
        }
        Loss::Binomial if trials.is_none() => {
            let help = "name its column with ‹trials›; without, the target must be 0 or 1 in every row";
            return wrong("the binomial loss needs the number of trials".into(), help);
        }
        _ => {}
    }
    Ok((noise, factor))
}

/// The densities of the schema: of which numbers of a set, and whether every group has its own.
pub fn priors(
    program: &Program,
    loss: &Loss,
    parameters: &[Parameter],
    layout: &Layout,
) -> Result<Vec<(Density, usize, usize, bool)>, Report> {
    let mut list = Vec::new();
    for (parameter, block) in parameters.iter().zip(&layout.blocks) {
        let Some(prior) = &parameter.prior else { continue };
        let Some(density) = Density::of(prior) else {
            let error =
                Diagnostic::error(ErrorCode::E0807, format!("a fit does not know the prior of {}", parameter.name));
            return Err(parameter.report(program, error.help(format!("priors are {}", Density::FORMS))));
        };
        if !loss.is_likelihood() && *loss != Loss::Objective {
            let message = format!("{} has a prior, but the {} loss is no likelihood", parameter.name, loss.name());
            let help = "a prior weighs against a likelihood: use ‹loss gaussian› with ‹sigma› or a parameter sigma, or \
                        another likelihood";
            return Err(parameter.report(program, Diagnostic::error(ErrorCode::E0807, message).help(help)));
        }
        if density.log(parameter.init).0 == f64::NEG_INFINITY {
            let message = format!("the prior of {} excludes its start {}", parameter.name, parameter.init);
            let help = "start where the prior is not 0, or widen the prior";
            return Err(parameter.report(program, Diagnostic::error(ErrorCode::E0807, message).help(help)));
        }
        list.push((density, block.value, block.transform.values(), block.per_group));
    }
    Ok(list)
}

/// Finds the inputs, the targets, and weights, standard deviations and trials in the table.
pub fn bind_columns(
    names: &Names,
    table: &Table,
    targets: &[String],
    aside: &[Option<String>; 3],
    run: &RunOptions,
) -> Result<Bound, Report> {
    let target_values =
        targets.iter().map(|t| numbers(table, find_column(table, t)?)).collect::<Result<Vec<_>, Report>>()?;
    let mut inputs = Vec::new();
    for column in table.columns.iter().filter(|c| !c.name.is_empty() && !targets.contains(&c.name)) {
        let name = &column.name;
        let clash = if names.schema.find(name).is_some() {
            Some("a parameter of the program")
        } else if run.bindings.iter().any(|(n, _)| n == name) && names.mentioned.contains(name) {
            Some("given with ‹set›")
        } else {
            None
        };
        if let Some(clash) = clash {
            let error =
                Diagnostic::error(ErrorCode::E0707, format!("{name} is a column of {} and {clash}", table.name));
            return Err(Report::from(error.help("rename one of them")));
        }
        if !names.mentioned.contains(name) {
            continue;
        }
        inputs.push(input(table, column)?);
    }
    if inputs.is_empty() {
        inputs.push(constant_input(names, table, targets, run)?);
    }
    let [weight, sigma, trials] = aside;
    let positive = |name: &Option<String>, zero: bool| match name {
        Some(name) => not_negative(table, find_column(table, name)?, zero),
        None => Ok(vec![1.0; table.rows]),
    };
    let aside_columns = aside.iter().flatten().filter_map(|name| table.column(name));
    let needed = table.columns.iter().filter(|c| inputs.iter().any(|(name, _)| *name == c.name)).chain(aside_columns);
    let mut unusable: Vec<usize> = needed.flat_map(|c| c.missing.iter().copied()).collect();
    let nothing = |r: &usize| target_values.iter().all(|t| t[*r].is_nan());
    unusable.extend((0..table.rows).filter(nothing));
    Ok(Bound {
        inputs,
        unusable: left_out(table, unusable)?,
        targets: target_values,
        weight: positive(weight, true)?,
        sigma: positive(sigma, false)?,
        trials: positive(trials, false)?,
    })
}

/// Refuses targets that a loss of counts gives no probability to, whatever is predicted.
pub fn check_counts(table: &Table, loss: &Loss, targets: &[String], bound: &Bound) -> Result<(), Report> {
    if !matches!(loss, Loss::Poisson | Loss::NegativeBinomial | Loss::Binomial) {
        return Ok(());
    }
    for (name, target) in targets.iter().zip(&bound.targets) {
        let most = |row: usize| if loss.uses_trials() { bound.trials[row] } else { f64::INFINITY };
        let is_wrong = |&row: &usize| target[row] < 0.0 || target[row] > most(row);
        let Some(row) = (0..table.rows).find(is_wrong) else { continue };
        let expected = match target[row] < 0.0 {
            true => "0 or more".to_string(),
            false => format!("at most the {} trials of the row", most(row)),
        };
        let place = format!("{}: row {} of column {name}", table.name, row + 1);
        let message = format!("{place} must be {expected} for the {} loss, got {}", loss.name(), target[row]);
        let help = "correct the field, remove the row, or take another loss";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0706, message).help(help)));
    }
    Ok(())
}

/// The columns that an objective program reads, whole.
pub fn bind_series(names: &Names, table: &Table, run: &RunOptions) -> Result<Vec<(String, Column)>, Report> {
    let mut inputs = Vec::new();
    for column in table.columns.iter().filter(|c| names.mentioned.contains(&c.name)) {
        let name = &column.name;
        if run.bindings.iter().any(|(n, _)| n == name) {
            let error = Diagnostic::error(
                ErrorCode::E0707,
                format!("{name} is a column of {} and given with ‹set›", table.name),
            );
            return Err(Report::from(error.help("rename one of them")));
        }
        inputs.push(input(table, column)?);
    }
    let unknown: Vec<&String> = names.unbound.iter().flatten().collect();
    some_read(table, &inputs, &unknown)?;
    Ok(inputs)
}

/// A column as an input. Text is fine where the program wants text, but not with a slip in it.
fn input(table: &Table, column: &TableColumn) -> Result<(String, Column), Report> {
    // The columns of a matrix were looked at one by one.
    if matches!(column.values, Column::Shaped(..)) {
        return Ok((column.name.clone(), column.values.clone()));
    }
    check_decimal_commas(table, column)?;
    if column.stray.is_some() || !matches!(column.values, Column::Data(ref d) if matches!(d[0], Datum::String(_))) {
        numbers(table, column)?;
    }
    Ok((column.name.clone(), column.values.clone()))
}

/// Refuses a column of texts that are numbers with decimal commas.
fn check_decimal_commas(table: &Table, column: &TableColumn) -> Result<(), Report> {
    let Column::Data(data) = &column.values else { return Ok(()) };
    let is_number = |text: &str| {
        let is_comma = text.matches(',').count() == 1 && !text.contains('.');
        is_comma && text.replacen(',', ".", 1).trim().parse::<f64>().is_ok()
    };
    let is_decimal = |datum: &Datum| match datum {
        Datum::String(text) => is_number(text) || text.trim().parse::<f64>().is_ok(),
        Datum::Real(_) | Datum::Integer(_) => true,
        _ => false,
    };
    let first = data.iter().find_map(|d| if let Datum::String(text) = d { Some(text) } else { None });
    let Some(first) = first.filter(|text| is_number(text) && data.iter().all(is_decimal)) else { return Ok(()) };
    let (table, name, point) = (&table.name, &column.name, first.replacen(',', ".", 1));
    let message = format!("{table}: column {name} has decimal commas, such as {first}");
    let help =
        format!("write {point}, or put semicolons between the fields of the file: then a comma may be a decimal comma");
    Err(Report::from(Diagnostic::error(ErrorCode::E0705, message).help(help)))
}

/// What a program that reads no column is run over, and does not read either: the numbers of the rows. Such a program
/// predicts the same for every row, as the model that others are compared with does. An error if it has names that
/// may be meant for columns.
pub fn constant_input(
    names: &Names,
    table: &Table,
    targets: &[String],
    run: &RunOptions,
) -> Result<(String, Column), Report> {
    let is_given = |name: &String| run.bindings.iter().any(|(n, _)| n == name) || names.schema.find(name).is_some();
    let is_column = |name: &String| !is_given(name) && !targets.contains(name);
    if names.unbound.as_ref().is_none_or(|unbound| unbound.iter().any(is_column)) {
        // A slip in the only name of a column.
        let columns = || table.columns.iter().map(|c| c.name.as_str()).filter(|c| !targets.iter().any(|t| t == c));
        let slips = names.unbound.iter().flatten().filter(|name| is_column(name));
        if let Some((name, near)) = slips.filter_map(|name| Some((name, dmci::nearest(name, columns())?))).next() {
            let message = format!("{name} is neither a parameter nor a column of {}", table.name);
            let help = format!("did you mean the column {near}?");
            return Err(Report::from(Diagnostic::error(ErrorCode::E0703, message).help(help)));
        }
        some_read(table, &[], &names.unbound.iter().flatten().filter(|n| is_column(n)).collect::<Vec<_>>())?;
    }
    let is_free = |name: &String| !names.mentioned.contains(name) && !is_given(name);
    let name = ["row", "row-number", "%row"].map(String::from).into_iter().find(is_free).unwrap_or("%%row".into());
    Ok((name, Column::Reals((1..=table.rows).map(|row| row as f64).collect())))
}

/// An error if the program reads no column; it says which names are neither columns nor parameters.
fn some_read(table: &Table, inputs: &[(String, Column)], unknown: &[&String]) -> Result<(), Report> {
    if !inputs.is_empty() {
        return Ok(());
    }
    let mut message = format!("the program reads none of the columns of {}", table.name);
    match unknown {
        [] => {}
        [one] => message += &format!(": {one} is neither a column nor a parameter"),
        many => {
            let names: Vec<&str> = many.iter().map(|name| name.as_str()).collect();
            message += &format!(": {} are neither columns nor parameters", names.join(", "));
        }
    }
    let mut help = format!("name its variables like columns; the table has {}", table.column_names());
    let is_odd = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '\'' | '"' | ',' | ';' | '`');
    if let Some(odd) = table.columns.iter().map(|c| &c.name).find(|name| name.contains(is_odd)) {
        help += &format!("; in a program, the name {odd} is written |{odd}|");
    }
    Err(Report::from(Diagnostic::error(ErrorCode::E0703, message).help(help)))
}

/// The numbers of a target by its name.
pub fn target_numbers(table: &Table, name: &str) -> Result<(String, Vec<f64>), Report> {
    Ok((name.to_string(), numbers(table, find_column(table, name)?)?))
}

/// A column that marks rows: numbers as they are, the words test, true and yes in any case as 1, other words as 0.
pub fn marks(table: &Table, name: &str) -> Result<Vec<f64>, Report> {
    let column = find_column(table, name)?;
    if let Ok(list) = column.reals() {
        return Ok(list);
    }
    let words = ["test", "true", "yes"];
    let is_marked = |row: usize| words.iter().any(|w| column.shown(row).trim_matches('"').eq_ignore_ascii_case(w));
    Ok((0..table.rows).map(|row| f64::from(u8::from(is_marked(row)))).collect())
}

/// The numbers of a column that must not be negative, or not 0 either.
fn not_negative(table: &Table, column: &TableColumn, zero: bool) -> Result<Vec<f64>, Report> {
    let numbers = numbers(table, column)?;
    match numbers.iter().position(|x| if zero { *x < 0.0 } else { *x <= 0.0 }) {
        Some(row) => {
            let expected = if zero { "0 or more" } else { "above 0" };
            let place = format!("{}: row {} of column {}", table.name, row + 1, column.name);
            let message = format!("{place} must be {expected}, got {}", column.shown(row));
            Err(Report::from(Diagnostic::error(ErrorCode::E0706, message).help("correct the field, or remove the row")))
        }
        None => Ok(numbers),
    }
}

/// The column of a table with this name, or an error that lists what there is.
pub fn find_column<'a>(table: &'a Table, name: &str) -> Result<&'a TableColumn, Report> {
    table.column(name).ok_or_else(|| {
        let message = format!("{} has no column {name}", table.name);
        let similar = table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name));
        let help = match similar {
            Some(column) => format!("did you mean {}? upper and lower case differ", column.name),
            None => match dmci::nearest(name, table.columns.iter().map(|c| c.name.as_str())) {
                Some(near) => format!("did you mean {near}? its columns are {}", table.column_names()),
                None => format!("its columns are {}", table.column_names()),
            },
        };
        Report::from(Diagnostic::error(ErrorCode::E0704, message).help(help))
    })
}

/// The finite numbers of a column.
pub fn numbers(table: &Table, column: &TableColumn) -> Result<Vec<f64>, Report> {
    check_decimal_commas(table, column)?;
    let place = |row: usize| format!("{}: row {} of column {}", table.name, row + 1, column.name);
    let reals = column.reals().map_err(|row| {
        let message = format!("{} must be a number, got {}", place(row), column.shown(row));
        let help = "correct the field, or remove the row; if it stands for a missing value, declare it with ‹missing›";
        Report::from(Diagnostic::error(ErrorCode::E0705, message).help(help))
    })?;
    match (0..reals.len()).find(|&row| !reals[row].is_finite() && !column.missing.contains(&row)) {
        Some(row) => {
            let message = format!("{} must be a finite number, got {}", place(row), column.shown(row));
            let help =
                "remove the row: a fit cannot use it; if it stands for a missing value, declare it with ‹missing›";
            Err(Report::from(Diagnostic::error(ErrorCode::E0706, message).help(help)))
        }
        None => Ok(reals),
    }
}

/// The program that gives prediction and loss of a row: its last form, and a procedure of its own applied to
/// that and to the target. Also the name that the target has in there: one that the program does not use, since the
/// name of the column may be that of something else, or none at all.
pub fn with_procedure(
    program: &Program,
    names: &Names,
    loss: &str,
    targets: &[String],
    run: &RunOptions,
) -> Result<(Program, String), Report> {
    let wrong =
        |message: String, help: String| Err(Report::from(Diagnostic::error(ErrorCode::E0806, message).help(help)));
    if !names.defined.iter().any(|name| name == loss) {
        let message = format!("there is no loss {loss}, and {} defines no procedure of that name", program.name);
        let help = format!("the losses are {}; a procedure takes prediction and target", Loss::NAMES.join(", "));
        return wrong(message, help);
    }
    let [_] = targets else {
        let message = format!("the procedure {loss} is a loss of one target, got {}", targets.len());
        return wrong(message, "fit one column, or let the program give its own objective".into());
    };
    let Some((start, end)) = names.last else {
        let message = format!("the last form of {} must be an expression in parentheses", program.name);
        return wrong(message, format!("the procedure {loss} is applied to its value"));
    };
    let (start, end) = (start as usize, end as usize);
    let text = &program.text;
    let (before, last, after) = (&text[..start], &text[start..end], &text[end..]);
    let is_free = |name: &String| !text.contains(name) && run.bindings.iter().all(|(n, _)| n != name);
    let fresh = |name: &str| {
        let more = (1..).map(|i| format!("{name}-{i}"));
        std::iter::once(name.to_string()).chain(more).find(is_free).expect("a program has an end")
    };
    let (predicted, measured) = (fresh("predicted-value"), fresh("measured-value"));
    let text =
        format!("{before}(let (({predicted} {last})) (list {predicted} ({loss} {predicted} {measured}))){after}");
    Ok((Program::named(&program.name, &text), measured))
}

/// Reports every mistake in the program at once, before anything runs: above all names that are
/// neither parameters nor columns. What is known of the names of this very program saves looking.
pub fn check_program<'a>(
    program: &Program,
    names: Option<&Names>,
    run: &RunOptions,
    given: impl Iterator<Item = &'a String>,
    table: &Table,
    targets: &[String],
) -> Result<(), Report> {
    // A language of the user's own is not ours to check.
    if matches!(run.mode, Mode::Evaluator { .. }) {
        return Ok(());
    }
    let mut options = run.clone();
    options.bindings.extend(given.map(|name| (name.clone(), Datum::Real(0.0))));
    let is_given = |name: &String| options.bindings.iter().any(|(given, _)| given == name);
    if names.and_then(|names| names.unbound.as_ref()).is_some_and(|unbound| unbound.iter().all(is_given)) {
        return Ok(());
    }
    let mut report = Interpreter::shared().check(program, &options);
    let near = |name: &str| {
        let columns = table.columns.iter().map(|c| c.name.as_str()).filter(|c| !targets.iter().any(|t| t == c));
        dmci::nearest(name, columns).map(|column| format!("did you mean the column {column}?"))
    };
    for diagnostic in report.diagnostics.iter_mut().filter(|d| d.code == ErrorCode::E0301) {
        let name = diagnostic.span().map(|span| report.sources.slice(span)).unwrap_or_default();
        let help = diagnostic.help.as_deref().unwrap_or_default();
        let suggested = help.starts_with("did you mean");
        if help.contains("a power is") || help.contains("the operator comes first") {
            diagnostic.help = Some(format!("{help}; or give the model as a formula with ‹formula›"));
            continue;
        }
        let similar = table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name) && !targets.contains(&c.name));
        diagnostic.help = match similar {
            _ if targets.iter().any(|t| t == name) => {
                Some(format!("{name} is the target: the program predicts it and cannot read it"))
            }
            Some(column) => Some(format!("did you mean the column {}? upper and lower case differ", column.name)),
            None if suggested => continue,
            None if near(name).is_some() => near(name),
            None => Some(format!(
                "{} has no such column (it has {}); declare it in (params ...), or give it a value with ‹set {name}=...›",
                table.name,
                table.column_names()
            )),
        };
    }
    if report.has_errors() { Err(report) } else { Ok(()) }
}

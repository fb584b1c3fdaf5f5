//! Models made step by step: which names are parameters, which are inputs, and how the model is run.

use super::{Model, ModelOptions};
use crate::binding;
use crate::datum::Datum;
use crate::interpreter::Interpreter;
use crate::program::Program;
use crate::report::Report;
use dmci_value::{Diagnostic, ErrorCode};

/// A model under construction ([`Model::builder`]).
///
/// Parameters that nobody names are those of the program's `(params ...)`, in its order and in its shapes; inputs that
/// nobody names are the names that the program leaves open, in alphabetical order.
///
/// ```
/// use dmci::{Column, Model, Program, Want};
///
/// let program = Program::new("(params (a positive 1.0) (b free 0.0)) (+ (* a x) b)");
/// let model = Model::builder(program).build()?;
/// assert_eq!((model.parameter_names(), model.input_names()), (vec!["a", "b"], vec!["x"]));
/// let batch = model.evaluate(&[2.0, 1.0], &[Column::Reals(vec![3.0, 4.0])], Want::Values)?;
/// assert_eq!(batch.values, [7.0, 9.0]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelBuilder {
    program: Program,
    params: Option<Vec<(String, Datum)>>,
    inputs: Option<Vec<String>>,
    options: ModelOptions,
}

impl Model {
    /// A model of a program, step by step.
    ///
    /// ```
    /// use dmci::{Column, Model, Program, Want};
    ///
    /// let model = Model::builder(Program::new("(* a (exp (- (* b t))))"))
    ///     .parameters(["a", "b"])
    ///     .inputs(["t"])
    ///     .build()?;
    /// let batch = model.evaluate(&[2.5, 0.0], &[Column::Reals(vec![0.0, 1.0])], Want::Gradients)?;
    /// assert_eq!(batch.values, [2.5, 2.5]);
    /// assert_eq!(batch.gradients, [1.0, 0.0, 1.0, -2.5]);
    /// # Ok::<(), dmci::Report>(())
    /// ```
    pub fn builder(program: Program) -> ModelBuilder {
        ModelBuilder { program, params: None, inputs: None, options: ModelOptions::default() }
    }
}

impl ModelBuilder {
    /// Adds a parameter that is one number.
    pub fn parameter(self, name: &str) -> ModelBuilder {
        self.parameter_like(name, Datum::Real(0.0))
    }

    /// Adds parameters that are one number each.
    pub fn parameters<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> ModelBuilder {
        self.params.get_or_insert_default();
        names.into_iter().fold(self, ModelBuilder::parameter)
    }

    /// Adds a parameter with the structure of a datum: a number, a tensor, or a list or vector of these. The numbers
    /// inside, in order, are what the model is evaluated at.
    ///
    /// ```
    /// use dmci::{Datum, Model, Program, Want};
    ///
    /// let weights = Datum::list(vec![Datum::Real(0.0), Datum::Real(0.0)]);
    /// let program = Program::new("(apply * weights)");
    /// let model = Model::builder(program).parameter_like("weights", weights).build()?;
    /// let batch = model.evaluate(&[3.0, 5.0], &[], Want::Gradients)?;
    /// assert_eq!((batch.values, batch.gradients), (vec![15.0], vec![5.0, 3.0]));
    /// # Ok::<(), dmci::Report>(())
    /// ```
    pub fn parameter_like(mut self, name: &str, structure: Datum) -> ModelBuilder {
        self.params.get_or_insert_default().push((name.into(), structure));
        self
    }

    /// Adds an input: a column of the data.
    pub fn input(mut self, name: &str) -> ModelBuilder {
        self.inputs.get_or_insert_default().push(name.into());
        self
    }

    /// Adds inputs, in the order of the columns.
    pub fn inputs<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> ModelBuilder {
        self.inputs.get_or_insert_default();
        names.into_iter().fold(self, ModelBuilder::input)
    }

    /// Sets how the model is run.
    pub fn options(mut self, options: ModelOptions) -> ModelBuilder {
        self.options = options;
        self
    }

    /// The model. Fails if a name is given twice, if a parameter holds no number, or if names are to be found in a
    /// program that cannot be read.
    pub fn build(self) -> Result<Model, Report> {
        let ModelBuilder { program, params, inputs, options } = self;
        let params = match params {
            Some(params) => params,
            None => {
                let schema = Interpreter::shared().names(&program)?.schema;
                schema.parameters.iter().map(|p| (p.name.clone(), p.datum())).collect()
            }
        };
        let inputs = match inputs {
            Some(inputs) => inputs,
            None => {
                let mut open = program.free_names()?;
                let bound = params.iter().chain(&options.run.bindings);
                open.retain(|name| bound.clone().all(|(other, _)| other != name));
                open.sort();
                open.dedup();
                open
            }
        };
        let bound = options.run.bindings.iter().map(|(name, _)| name);
        let all: Vec<&String> = params.iter().map(|(name, _)| name).chain(&inputs).chain(bound).collect();
        let twice = all.iter().enumerate().find(|&(i, name)| all[..i].contains(name));
        if let Some((_, name)) = twice {
            let message = format!("{name} is given twice among the parameters, inputs and bindings of a model");
            return Err(Diagnostic::error(ErrorCode::E0910, message).help("name it once").into());
        }
        if let Some((name, _)) = params.iter().find(|(_, structure)| binding::count(structure) == 0) {
            let message = format!("the parameter {name} holds no number");
            let help = "give it the structure of a number, a tensor, or a list or vector of these";
            return Err(Diagnostic::error(ErrorCode::E0910, message).help(help).into());
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        Ok(Model::with_params(program, params, &inputs, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, RunOptions, Want};

    fn refused(builder: ModelBuilder) -> String {
        let report = builder.build().expect_err("it is refused");
        format!("{} {}", report.diagnostics[0].code, report.diagnostics[0].message)
    }

    #[test]
    fn names_that_nobody_gives_are_those_of_the_program() {
        let program = Program::new("(params (w (vector 2) 1.0) (k positive 2.0)) (+ k (dot w v) z (max z y))");
        let model = Model::builder(program.clone()).build().expect("a model");
        assert_eq!((model.parameter_names(), model.input_names()), (vec!["w", "k"], vec!["v", "y", "z"]));
        assert_eq!(model.numbers(), 3, "a vector of two numbers, and a number");
        // What is bound for all lanes is no input.
        let options = ModelOptions { run: RunOptions::default().with("y", 1.0), ..ModelOptions::default() };
        let model = Model::builder(program.clone()).options(options).build().expect("a model");
        assert_eq!(model.input_names(), ["v", "z"]);
        // Named parameters are all parameters; the schema's values bind the others.
        let model = Model::builder(program).parameter("k").build().expect("a model");
        assert_eq!((model.parameter_names(), model.input_names()), (vec!["k"], vec!["v", "y", "z"]));
    }

    #[test]
    fn a_model_without_inputs_has_one_row() {
        let model = Model::builder(Program::new("(* a a)")).parameters(["a"]).inputs([]).build().expect("a model");
        let batch = model.evaluate(&[3.0, 4.0], &[] as &[Column], Want::Gradients).expect("two sets");
        assert_eq!((batch.values, batch.gradients), (vec![9.0, 16.0], vec![6.0, 8.0]));
    }

    #[test]
    fn what_cannot_be_a_model_is_refused() {
        let of = |text: &str| Model::builder(Program::new(text));
        let twice = "is given twice among the parameters, inputs and bindings of a model";
        assert_eq!(refused(of("(* a x)").parameters(["a", "a"]).inputs(["x"])), format!("E0910 a {twice}"));
        assert_eq!(refused(of("(* a x)").parameter("a").inputs(["x", "a"])), format!("E0910 a {twice}"));
        let options = ModelOptions { run: RunOptions::default().with("x", 2.0), ..ModelOptions::default() };
        assert_eq!(refused(of("(* a x)").parameter("a").input("x").options(options)), format!("E0910 x {twice}"));
        let nothing = of("a").parameter_like("a", Datum::list(Vec::new())).inputs([]);
        assert_eq!(refused(nothing), "E0910 the parameter a holds no number");
        assert!(refused(of("(* a")).starts_with("E0101"), "its names cannot be found");
    }
}

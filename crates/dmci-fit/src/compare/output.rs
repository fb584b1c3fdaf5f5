//! A comparison as a table, with its conclusion in a sentence, and as JSON.

use super::{Compared, Validation};
use dmci::Datum;
use dmci_plot::{aligned, digits};
use serde_json::{Value as Json, json};

/// The name and version of the JSON form.
const SCHEMA: &str = "dmci-compare-1";

/// A difference of criteria below which neither of two models is better supported (Burnham and Anderson 2002).
const SMALL: f64 = 2.0;

/// A p-value above which chance alone explains a difference.
const CHANCE: f64 = 0.05;

/// Models that were compared, the best first.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The models: by AICc or, where there are no criteria, by their errors on unseen rows or their losses.
    pub models: Vec<Compared>,
    /// How rows were held out.
    pub validation: Option<Validation>,
}

impl Comparison {
    /// The models in their order.
    pub(super) fn new(mut models: Vec<Compared>, validation: Option<Validation>) -> Comparison {
        let corrected = models.iter().all(|m| m.criteria.is_some_and(|c| c.aicc.is_some()));
        let weighed = models.iter().all(|m| m.criteria.is_some());
        let rank = |m: &Compared| match (&m.criteria, &m.unseen) {
            (Some(c), _) if weighed => c.aicc.filter(|_| corrected).unwrap_or(c.aic),
            (_, Some(unseen)) => unseen.rmse,
            _ => m.loss,
        };
        models.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        Comparison { models, validation }
    }

    /// The criterion that ranks, with its name; none without criteria.
    fn criterion(&self) -> Option<(&'static str, Vec<f64>)> {
        let all = self.models.iter().map(|m| m.criteria).collect::<Option<Vec<_>>>()?;
        match all.iter().map(|c| c.aicc).collect::<Option<Vec<f64>>>() {
            Some(list) => Some(("AICc", list)),
            None => Some(("AIC", all.iter().map(|c| c.aic).collect())),
        }
    }

    /// The table and its conclusion.
    pub fn text(&self) -> String {
        let mut rows: Vec<Vec<String>> = vec![["model", "numbers", "loss", "R2"].map(String::from).to_vec()];
        let criterion = self.criterion();
        let tested = self.models.iter().any(|m| m.unseen.is_some());
        if let Some((name, _)) = &criterion {
            rows[0].extend([*name, "above", "weight", "BIC", "weight"].map(String::from));
        }
        if tested {
            rows[0].extend(["unseen RMSE", "p"].map(String::from));
        }
        for (i, m) in self.models.iter().enumerate() {
            let r2 = m.r2.map_or(String::new(), |r2| digits(r2, 5));
            let mut row = vec![m.name.clone(), m.numbers.to_string(), digits(m.loss, 5), r2];
            if let (Some((_, values)), Some(c), Some((aic, bic))) = (&criterion, &m.criteria, m.weights) {
                row.extend([digits(values[i], 6), digits(values[i] - values[0], 3), digits(aic, 3)]);
                row.extend([digits(c.bic, 6), digits(bic, 3)]);
            }
            if let Some(unseen) = &m.unseen {
                row.push(digits(unseen.rmse, 5));
                row.push(unseen.difference.map_or(String::new(), |(_, _, chance)| digits(chance, 2)));
            }
            rows.push(row);
        }
        format!("{}\n{}\n", aligned(&rows), self.conclusion())
    }

    /// What the comparison says, in a sentence or two.
    pub fn conclusion(&self) -> String {
        let [best, rest @ ..] = &self.models[..] else { return String::new() };
        let Some(second) = rest.first() else {
            return format!("{} has nothing to be compared with.", best.name);
        };
        let mut text = match self.criterion() {
            Some((name, values)) if values[1] - values[0] < SMALL => {
                let above = digits(values[1] - values[0], 2);
                let both = (&best.name, &second.name);
                format!("{name} does not tell {} and {} apart: it differs by {above}.", both.0, both.1)
            }
            Some((name, values)) => {
                let (above, weight) = (digits(values[1] - values[0], 3), best.weights.map_or(f64::NAN, |w| w.0));
                format!(
                    "{} is best by {name}, {above} below {} (weight {}).",
                    best.name,
                    second.name,
                    digits(weight, 3)
                )
            }
            None => format!("{} is best; its loss has no criteria.", best.name),
        };
        let unseen: Vec<&Compared> = self.models.iter().filter(|m| m.unseen.is_some()).collect();
        let least = unseen.iter().find(|m| m.unseen.as_ref().is_some_and(|u| u.difference.is_none()));
        if let Some(least) = least.filter(|_| unseen.len() > 1) {
            let chance = |m: &Compared| m.unseen.as_ref().and_then(|u| u.difference).map(|d| d.2);
            let near: Vec<&str> =
                unseen.iter().filter(|m| chance(m).is_some_and(|p| p > CHANCE)).map(|m| m.name.as_str()).collect();
            text += &format!(" {} predicts unseen rows best", least.name);
            text += &match near.is_empty() {
                true => ", and the others are worse beyond chance.".to_string(),
                false => format!(", but {} may be as good by chance.", near.join(", ")),
            };
        }
        let stuck: Vec<&str> =
            self.models.iter().filter(|m| !m.status.starts_with("converged")).map(|m| m.name.as_str()).collect();
        if !stuck.is_empty() {
            text += &format!(" The fit of {} did not converge: fit it alone to see why.", stuck.join(", "));
        }
        text
    }

    /// One object.
    pub fn to_json(&self) -> Json {
        let real = |x: f64| Datum::Real(x).to_json();
        let maybe = |x: Option<f64>| x.map_or(Json::Null, real);
        let model = |m: &Compared| {
            let criteria = m.criteria.map(|c| {
                json!({
                    "log_likelihood": real(c.log_likelihood), "parameters": c.parameters,
                    "aic": real(c.aic), "aicc": maybe(c.aicc), "bic": real(c.bic),
                    "weight": maybe(m.weights.map(|w| w.0)), "bic_weight": maybe(m.weights.map(|w| w.1)),
                })
            });
            let unseen = m.unseen.as_ref().map(|u| {
                let difference = u
                    .difference
                    .map(|(mean, error, chance)| json!({"mean": real(mean), "error": real(error), "p": real(chance)}));
                json!({"rmse": real(u.rmse), "count": u.count, "difference": difference})
            });
            json!({
                "name": m.name, "rows": m.rows, "numbers": m.numbers, "loss": real(m.loss), "rmse": real(m.rmse),
                "r2": maybe(m.r2), "status": m.status, "criteria": criteria, "unseen": unseen,
            })
        };
        json!({
            "schema": SCHEMA,
            "validation": self.validation.as_ref().map(Validation::name),
            "models": self.models.iter().map(model).collect::<Vec<Json>>(),
            "conclusion": self.conclusion(),
        })
    }
}

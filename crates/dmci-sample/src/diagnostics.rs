//! Whether draws can be trusted: split R-hat and the effective sample size (Vehtari and others, 2021, without
//! ranks), and what they say about a number.

/// What the draws say about a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// The mean of all draws.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// The values below which 5%, 50% and 95% of the draws lie.
    pub quantiles: [f64; 3],
    /// Near 1 if the chains agree with each other and with themselves.
    pub r_hat: f64,
    /// As many independent draws would tell as much about the mean.
    pub effective: f64,
}

impl Summary {
    /// The summary of the draws of several chains.
    pub fn of(name: &str, chains: &[Vec<f64>]) -> Summary {
        let mut all: Vec<f64> = chains.concat();
        let mean = mean(&all);
        let sd = variance(&all, mean).sqrt();
        all.sort_by(f64::total_cmp);
        let quantile = |q: f64| all.get(((all.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(f64::NAN);
        Summary {
            name: name.to_string(),
            mean,
            sd,
            quantiles: [0.05, 0.5, 0.95].map(quantile),
            r_hat: split_r_hat(chains),
            effective: effective_size(chains),
        }
    }
}

fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len() as f64
}

fn variance(list: &[f64], mean: f64) -> f64 {
    list.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (list.len() as f64 - 1.0)
}

/// Each chain as its two halves.
fn halves(chains: &[Vec<f64>]) -> Vec<&[f64]> {
    let shortest = chains.iter().map(Vec::len).min().unwrap_or(0) / 2;
    chains.iter().flat_map(|c| [&c[..shortest], &c[c.len() - shortest..]]).collect()
}

/// The variance within the halves of chains, and the variance of all draws that it suggests.
fn variances(parts: &[&[f64]]) -> (f64, f64) {
    let n = parts.first().map_or(0, |p| p.len()) as f64;
    let means: Vec<f64> = parts.iter().map(|p| mean(p)).collect();
    let within = mean(&parts.iter().zip(&means).map(|(p, m)| variance(p, *m)).collect::<Vec<f64>>());
    let between = variance(&means, mean(&means));
    (within, within * (n - 1.0) / n + between)
}

/// How much wider all draws together are than the halves of chains by themselves.
pub fn split_r_hat(chains: &[Vec<f64>]) -> f64 {
    let (within, all) = variances(&halves(chains));
    if within == 0.0 { f64::NAN } else { (all / within).sqrt() }
}

/// The number of independent draws that would know the mean as well (Geyer's initial monotone sequence).
pub fn effective_size(chains: &[Vec<f64>]) -> f64 {
    let parts = halves(chains);
    let n = parts.first().map_or(0, |p| p.len());
    let total = (n * parts.len()) as f64;
    if n < 4 {
        return f64::NAN;
    }
    let (within, all) = variances(&parts);
    let means: Vec<f64> = parts.iter().map(|p| mean(p)).collect();
    let covariance = |lag: usize| {
        let of_part =
            |(p, m): (&&[f64], &f64)| (0..n - lag).map(|i| (p[i] - m) * (p[i + lag] - m)).sum::<f64>() / n as f64;
        mean(&parts.iter().zip(&means).map(of_part).collect::<Vec<f64>>())
    };
    let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / all;
    let (mut sum, mut last, mut lag) = (0.0, f64::INFINITY, 0);
    while lag + 1 < n {
        let first = if lag == 0 { 1.0 } else { correlation(lag) };
        let pair = first + correlation(lag + 1);
        if pair < 0.0 {
            break;
        }
        last = pair.min(last);
        sum += last;
        lag += 2;
    }
    (total / (2.0 * sum - 1.0).max(1.0 / total.log10())).min(total * total.log10())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_stats::random::Stream;

    #[test]
    fn independent_draws_count_fully_and_correlated_ones_less() {
        let mut stream = Stream::new(3, 0);
        let independent: Vec<Vec<f64>> = (0..4).map(|_| stream.normals(1000)).collect();
        let size = effective_size(&independent);
        assert!((3200.0..4800.0).contains(&size), "{size}");
        assert!((split_r_hat(&independent) - 1.0).abs() < 0.01);
        // An autoregression of 0.9 has (1 - 0.9) / (1 + 0.9) of the draws.
        let correlated: Vec<Vec<f64>> = (0..4)
            .map(|_| {
                let mut x = 0.0;
                (0..4000)
                    .map(|_| {
                        x = 0.9 * x + stream.normal();
                        x
                    })
                    .collect()
            })
            .collect();
        let size = effective_size(&correlated);
        assert!((600.0..1100.0).contains(&size), "{size}, expected about 842");
        let mut apart = independent;
        apart[0].iter_mut().for_each(|x| *x += 3.0);
        assert!(split_r_hat(&apart) > 1.3);
    }
}

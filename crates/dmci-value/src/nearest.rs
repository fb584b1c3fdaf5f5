//! Names that are near in spelling.

/// The known name that is nearest in spelling, if it is near enough to be meant.
///
/// ```
/// use dmci_value::nearest::nearest;
///
/// assert_eq!(nearest("hodlout", ["holdout", "huber"]), Some("holdout"));
/// assert_eq!(nearest("speed", ["holdout", "huber"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest(name, std::iter::empty(), known.into_iter())
}

/// The name that is nearest in spelling, if it is near enough; of equally near ones, one of the program.
pub fn closest<'a>(
    name: &str,
    program: impl Iterator<Item = &'a str>,
    system: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0..=5 => 1,
        n => (n / 3).min(4),
    };
    program
        .zip(std::iter::repeat(false))
        .chain(system.zip(std::iter::repeat(true)))
        .filter(|&(k, _)| k != name)
        .filter_map(|(k, foreign)| Some((distance(name, k, limit)?, foreign, k)))
        .filter(|(d, _, k)| *d <= limit && *d < k.chars().count())
        .min()
        .map(|(.., k)| k)
}

/// Edit distance with swaps of neighbours; `None` if it is surely above `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit || a.len() > 60 {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + (a[i - 1] != b[j - 1]) as usize;
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied()
}

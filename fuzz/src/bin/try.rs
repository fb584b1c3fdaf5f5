use dmci_fuzz::{agree::*, generator::*, sexp::*, shrink};
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (mut v, mut e, mut l, mut bad) = (0, 0, 0, 0);
    let portable = a.get(3).is_some();
    let o = Options { portable, ..Options::default() };
    let t = std::time::Instant::now();
    for seed in a[0]..a[1] {
        let p = program(seed, &o);
        let ways = if a[2] > 0 && seed % a[2] == 0 { Ways::All } else { Ways::Both };
        if text_of(&p).contains("(eval ") {
            continue;
        }
        match check(&text_of(&p), ways, small_limits(), &vec![]) {
            Ok(Seen::Value { .. }) => v += 1,
            Ok(Seen::Error { report, .. }) => {
                e += 1;
                if report.contains("E9901") {
                    println!("INTERNAL {seed} {report}")
                }
            }
            Ok(Seen::Limit) => l += 1,
            Err(d) => {
                bad += 1;
                let small = shrink::shrink(p, 1500, |f| check(&text_of(f), ways, small_limits(), &vec![]).is_err());
                let d2 = check(&text_of(&small), ways, small_limits(), &vec![]).err().unwrap_or(d);
                println!("=== seed {seed}\n{}{}", text_of(&small), d2);
                if bad > 15 {
                    break;
                }
            }
        }
    }
    println!("values {v} errors {e} limits {l} bad {bad} in {:?}", t.elapsed());
}

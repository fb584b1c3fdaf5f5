use dmci::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let t = Instant::now();
    let i = Interpreter::shared();
    eprintln!("boot {:?}", t.elapsed());
    let text = std::fs::read_to_string(&args[2]).unwrap_or(args[2].clone());
    let o = RunOptions { mode: Mode::parse(&args[1]).unwrap(), ..Default::default() };
    for _ in 0..3 {
        let t = Instant::now();
        let r = i.run(&Program::new(&text), &o);
        let dt = t.elapsed();
        match r {
            Ok(o) => println!("{} {:?} {}", o.text, dt, o.output),
            Err(e) => println!("{e}"),
        }
    }
}

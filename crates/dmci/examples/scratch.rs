use dmci_data::*;
use std::sync::Arc;
use std::time::Instant;
fn main() {
    let t = Instant::now();
    let mut units = vec![];
    for f in ["core", "lists", "control", "vectors", "sort", "hash-tables", "io", "streams", "eval"] {
        let path = if f == "eval" { "scheme/eval.scm".to_string() } else { format!("scheme/lib/{f}.scm") };
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("no {path}");
            continue;
        };
        match dmci::system::compile_unit(&path, &text) {
            Ok(g) => units.push(g),
            Err(e) => {
                for e in e {
                    println!("{path}: {} {:?}", e.message, e.labels);
                }
                return;
            }
        }
    }
    println!("compile {:?}", t.elapsed());
    let t = Instant::now();
    let image = match dmci_vm::boot::image(&units) {
        Ok(i) => Arc::new(i),
        Err(e) => {
            println!("{e:?}");
            return;
        }
    };
    println!("boot {:?}", t.elapsed());
    let args: Vec<String> = std::env::args().collect();
    let mut vm = dmci_vm::Vm::new(&image);
    for mode in ["direct", "dmci"] {
        for rep in 0..2 {
            vm.reset();
            vm.configure(dmci_vm::Limits::default(), dmci_vm::Cancel::default(), 0);
            let t = Instant::now();
            let heap = &mut vm.world.heap;
            let src = heap.sources.add("arg", &args[1], Origin::User);
            let prog = match dmci_syntax::reader::read_all(heap, src) {
                Ok(p) => p,
                Err(e) => {
                    println!("{e:?}");
                    return;
                }
            };
            let result = if mode == "direct" {
                let table = &mut vm.world.environments.get_mut(dmci_vm::environment::USER).unwrap().syntax;
                let exp = match dmci_syntax::expand::expand_program(heap, table, prog.forms) {
                    Ok(p) => p,
                    Err(e) => {
                        println!("{e:?}");
                        return;
                    }
                };
                if args.len() > 2 && rep == 0 {
                    for f in &exp.forms {
                        println!("{}", dmci_syntax::printer::write(heap, *f));
                    }
                }
                let opts = dmci_compile::lower::Options {
                    primitives: dmci_vm::prims::set(),
                    system: false,
                    open: false,
                    given: &[],
                };
                let g = dmci_compile::compile(heap, &exp.forms, opts).unwrap();
                if args.len() > 2 && rep == 0 {
                    println!("{}", g.print());
                    println!("{}", dmci_compile::codegen::generate(&g, dmci_vm::prims::set()).unwrap().print());
                }
                let code = vm.load(&g, Origin::User, dmci_vm::environment::USER).unwrap();
                vm.run_code(code)
            } else {
                let name = heap.symbols.find("evaluate-program").unwrap();
                let cell = vm.world.environments.system_cell(name).unwrap();
                let f = vm.world.heap.field(cell.as_object().unwrap(), 0);
                let env = dmci_vm::prims::evaluation::environment_object(&mut vm.world, dmci_vm::environment::USER);
                vm.call(f, &[prog.forms, env])
            };
            let dt = t.elapsed();
            match result {
                Ok(v) => println!(
                    "{mode}: {} in {:?}   out: {:?}",
                    dmci_syntax::printer::write(&vm.world.heap, v),
                    dt,
                    vm.world.output.text
                ),
                Err(e) => println!("{mode}: {}", dmci_syntax::render::render(&vm.world.heap.sources, &e, false)),
            }
        }
    }
}

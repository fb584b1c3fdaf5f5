//! Lists, vectors and hash tables.

use super::{Generator, Type};
use crate::sexp::{Sexp, form};

impl Generator<'_> {
    pub(super) fn integers(&mut self, d: usize) -> Sexp {
        let (int, ints) = (Type::Int, Type::Ints);
        match self.random.below(19) {
            0 | 1 => {
                let parts: Vec<Sexp> = (0..self.random.below(4)).map(|_| self.expr(&int, d)).collect();
                form("(list ~~)", parts)
            }
            2 => form("(cons ~ ~)", [self.expr(&int, d), self.expr(&ints, d)]),
            3 => form("(append ~ ~)", [self.expr(&ints, d), self.expr(&ints, d)]),
            4 => form("(reverse ~)", [self.expr(&ints, d)]),
            5 | 6 => {
                let f = self.function(std::slice::from_ref(&int), &int, d);
                form("(map ~ ~)", [f, self.expr(&ints, d)])
            }
            7 => {
                let f = self.function(&[int.clone(), int.clone()], &int, d);
                form("(map ~ ~ ~)", [f, self.expr(&ints, d), self.expr(&ints, d)])
            }
            8 => {
                let f = self.function(std::slice::from_ref(&int), &Type::Bool, d);
                let op = *self.random.pick(&["filter", "remove", "filter"]);
                form(&format!("({op} ~ ~)"), [f, self.expr(&ints, d)])
            }
            9 => form(&format!("(sort ~ {})", self.random.pick(&["<", ">"])), [self.expr(&ints, d)]),
            10 => form("(sort ~ (lambda (a b) (< (* a a) (* b b))))", [self.expr(&ints, d)]),
            11 => form("(iota ~)", [Sexp::atom(self.random.between(0, 8))]),
            12 => form("(vector->list ~)", [self.expr(&Type::Vector, d)]),
            13 => form("(let ((l ~)) (if (pair? l) (cdr l) l))", [self.expr(&ints, d)]),
            14 => form("`(1 ,~ ,@~ 4)", [self.expr(&int, d), self.expr(&ints, d)]),
            15 => form("(delete ~ ~)", [self.expr(&int, d), self.expr(&ints, d)]),
            16 => form("(apply list ~ ~)", [self.expr(&int, d), self.expr(&ints, d)]),
            17 => form("(apply map + (list ~ ~))", [self.expr(&ints, d), self.expr(&ints, d)]),
            _ => form("(list-tail ~ 0)", [self.expr(&ints, d)]),
        }
    }

    pub(super) fn reals(&mut self, d: usize) -> Sexp {
        let (real, reals) = (Type::Real, Type::Reals);
        match self.random.below(6) {
            0 | 1 => form("(list ~ ~)", [self.expr(&real, d), self.expr(&real, d)]),
            2 => form("(cons ~ ~)", [self.expr(&real, d), self.expr(&reals, d)]),
            3 => form("(map exact->inexact ~)", [self.expr(&Type::Ints, d)]),
            4 => {
                let f = self.function(std::slice::from_ref(&real), &real, d);
                form("(map ~ ~)", [f, self.expr(&reals, d)])
            }
            _ => form("(append ~ ~)", [self.expr(&reals, d), self.expr(&reals, d)]),
        }
    }

    pub(super) fn vector(&mut self, d: usize) -> Sexp {
        let (int, vector) = (Type::Int, Type::Vector);
        match self.random.below(8) {
            0 => form("(make-vector ~ ~)", [Sexp::atom(self.random.between(1, 6)), self.expr(&int, d)]),
            1 => form("(list->vector (cons ~ ~))", [self.expr(&int, d), self.expr(&Type::Ints, d)]),
            2 => {
                let f = self.function(std::slice::from_ref(&int), &int, d);
                form("(vector-map ~ ~)", [f, self.expr(&vector, d)])
            }
            3 => form(
                "(let ((v ~)) (vector-set! v (modulo ~ (vector-length v)) ~) v)",
                [self.expr(&vector, d), self.expr(&int, d), self.expr(&int, d)],
            ),
            4 => form("(vector-copy ~)", [self.expr(&vector, d)]),
            5 => form("(let ((v (vector-copy ~))) (vector-fill! v ~) v)", [self.expr(&vector, d), self.expr(&int, d)]),
            6 => form("(vector-append ~ ~)", [self.expr(&vector, d), self.expr(&vector, d)]),
            _ => {
                let size = self.random.between(1, 6);
                form(
                    "(do ((v (make-vector ~ 0)) (i 0 (+ i 1))) ((= i ~) v) (vector-set! v i (* i ~)))",
                    [Sexp::atom(size), Sexp::atom(size), self.leaf(&int)],
                )
            }
        }
    }

    pub(super) fn table(&mut self, d: usize) -> Sexp {
        form(
            "(let ((h ~)) (hash-table-set! h (modulo ~ 5) ~) h)",
            [self.expr(&Type::Table, d), self.expr(&Type::Int, d), self.expr(&Type::Int, d)],
        )
    }
}

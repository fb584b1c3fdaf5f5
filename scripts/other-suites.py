#!/usr/bin/env python3
"""Run test suites that others wrote: r7rs-tests and r5rs-tests of chibi-scheme, read from a checkout of it.

    scripts/other-suites.py CHIBI_FOLDER [--dmci target/release/dmci] [--failures]

Nothing of these suites is part of this repository. Every form that tests something is a program of its own, behind the
definitions that stand before it, so that one that cannot be read or run does not stop the others. A form counts each
of its tests; if it ends with an error, what is left of it counts as one failed test.
"""

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SUITES = ["tests/r7rs-tests.scm", "tests/r5rs-tests.scm"]

# What the suites expect of their test library.
PRELUDE = """
(define (suite-same? a b)
  (cond ((and (number? a) (number? b) (inexact? a) (inexact? b))
         (or (eqv? a b) (and (nan? a) (nan? b)) (< (abs (- a b)) (* 1e-5 (+ 1 (abs b))))))
        ((and (pair? a) (pair? b)) (and (suite-same? (car a) (car b)) (suite-same? (cdr a) (cdr b))))
        ((and (vector? a) (vector? b)) (suite-same? (vector->list a) (vector->list b)))
        (else (equal? a b))))
(define (suite-note ok) (display (if ok "suite-passed\\n" "suite-failed\\n")))
(define (suite-compare expected actual) (suite-note (guard (e (#t #f)) (suite-same? (expected) (actual)))))
(define-syntax test
  (syntax-rules ()
    ((_ expected actual) (suite-compare (lambda () expected) (lambda () actual)))
    ((_ name expected actual) (suite-compare (lambda () expected) (lambda () actual)))))
(define-syntax test-values
  (syntax-rules ()
    ((_ expected actual)
     (suite-compare (lambda () (call-with-values (lambda () expected) list))
                    (lambda () (call-with-values (lambda () actual) list))))))
(define-syntax test-assert
  (syntax-rules ()
    ((_ actual) (suite-compare (lambda () #t) (lambda () (and actual #t))))
    ((_ name actual) (suite-compare (lambda () #t) (lambda () (and actual #t))))))
(define-syntax test-not
  (syntax-rules () ((_ actual) (suite-compare (lambda () #f) (lambda () actual)))))
(define-syntax test-error
  (syntax-rules ()
    ((_ actual) (suite-note (guard (e (#t #t)) actual #f)))
    ((_ name actual) (suite-note (guard (e (#t #t)) actual #f)))))
"""

TOKEN = re.compile(
    r"""(?P<skip>\s+|;[^\n]*)|(?P<string>"(?:\\.|[^"\\])*")|(?P<bars>\|(?:\\.|[^|\\])*\|)"""
    r"""|(?P<char>\#\\(?:[A-Za-z0-9]+|.))|(?P<open>\#?u?8?\()|(?P<close>\))|(?P<other>[^\s()";|]+|.)""",
    re.S,
)


def forms(text):
    """The top-level forms of a text, as texts."""
    at, depth, start, found = 0, 0, None, []
    while at < len(text):
        if text.startswith("#|", at):
            level, at = 1, at + 2
            while level and at < len(text):
                step = {"#|": 1, "|#": -1}.get(text[at : at + 2], 0)
                level, at = level + step, at + (2 if step else 1)
            continue
        token = TOKEN.match(text, at)
        if token.lastgroup != "skip":
            start = at if start is None else start
            depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        at = token.end()
        if start is not None and depth <= 0 and token.lastgroup != "skip":
            if text[start:at] != "#;":
                found.append(text[start:at])
            start, depth = None, 0
    return found


def run(dmci, program):
    """What a program prints, and whether it ended well."""
    done = subprocess.run([dmci, "run", "--time", "20", "-"], input=program, capture_output=True, text=True)
    return done.stdout, done.returncode == 0


def count(dmci, program):
    output, ended = run(dmci, program)
    return output.count("suite-passed"), output.count("suite-failed") + (not ended)


def suite(dmci, path, show):
    definitions, tests = PRELUDE, []
    for form in forms(path.read_text()):
        head = re.match(r"\(\s*([^\s()]+)", form)
        name = head.group(1) if head else ""
        if name in ("import", "test-begin", "test-end", "test-group", "test-exit"):
            continue
        if name.startswith("define") and not re.search(r"\(define-syntax\s+test[\s)]", form):
            if run(dmci, definitions + form)[1]:
                definitions += form + "\n"
            else:
                tests.append((form, None))
        elif "(test" in form:
            tests.append((form, definitions + form))
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda test: count(dmci, test[1]) if test[1] else (0, 1), tests))
    if show:
        for (form, _), (_, failed) in zip(tests, counts):
            if failed:
                print(" ".join(form.split())[:160])
    return sum(c[0] for c in counts), sum(sum(c) for c in counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dmci", default="target/release/dmci")
    parser.add_argument("--failures", action="store_true", help="show every form with a test that fails")
    args = parser.parse_args()
    paths = [args.folder / name for name in SUITES]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        sys.exit(f"not there: {', '.join(missing)}; name a checkout of chibi-scheme")
    for path in paths:
        passed, total = suite(args.dmci, path, args.failures)
        print(f"{path.name}: {passed} of {total}")


if __name__ == "__main__":
    main()

//! Operations as expressions of C, and the functions that C does not have.

use crate::spelling::{fill_names, own_functions};
use dmci_ops::Op;
use std::collections::BTreeSet;

/// An operation on names. Functions of our own that it calls are noted in `used`.
pub fn expression(op: Op, args: &[&str], used: &mut BTreeSet<&'static str>) -> String {
    let spelling = op.spelling().c;
    used.extend(own_functions(spelling, "d_"));
    fill_names(spelling, args)
}

/// Functions that C does not have, by name.
pub const HELPERS: &[(&str, &str)] = &[
    ("sign", "static double d_sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }"),
    (
        "sigmoid",
        "static double d_sigmoid(double x)
{
    const double e = exp(-fabs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}",
    ),
    ("softplus", "static double d_softplus(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))); }"),
    ("min", "static double d_min(double x, double y) { return isnan(x) || x < y || (x == y && signbit(x)) ? x : y; }"),
    ("max", "static double d_max(double x, double y) { return isnan(x) || x > y || (x == y && !signbit(x)) ? x : y; }"),
    (
        "modulo",
        "static double d_modulo(double x, double y)
{
    const double r = fmod(x, y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r + 0.0;
}",
    ),
    (
        "floor_quotient",
        "static double d_floor_quotient(double x, double y)
{
    const double r = fmod(x, y), q = rint((x - r) / y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? q - 1.0 : q + 0.0;
}",
    ),
    (
        "polygamma",
        "/* The derivative of order n of digamma: a recurrence up to large arguments, then the asymptotic series; a
 * reflection below zero, for orders up to 2. */
static double d_polygamma(double x, double n)
{
    static const double bernoulli[10] = {1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0,
        -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0, 43867.0 / 798.0, -174611.0 / 330.0};
    const double pi = 3.14159265358979323846;
    double sum = 0.0, sign, factorial = 1.0, term, power;
    int k;
    if (n == 0.0 && fabs(x) < 2.2250738585072014e-308) return -1.0 / x;
    if (x <= 0.0) {
        /* The period is 1, so the fraction alone decides. */
        const double part = x - rint(x), s = sin(pi * part);
        if (part == 0.0) return n == 1.0 ? INFINITY : NAN;
        if (n == 0.0) return d_polygamma(1.0 - x, 0.0) - pi * cos(pi * part) / s;
        if (n == 1.0) return pi * pi / (s * s) - d_polygamma(1.0 - x, 1.0);
        if (n == 2.0) return -2.0 * pi * pi * pi / (tan(pi * part) * s * s) + d_polygamma(1.0 - x, 2.0);
        return NAN;
    }
    if (isinf(x)) return n == 0.0 ? x : 0.0;
    sign = fmod(n, 2.0) == 0.0 ? -1.0 : 1.0;
    for (k = 1; k <= (int)n; k++) factorial *= k;
    for (; x < 20.0 + n; x += 1.0) sum += n == 0.0 ? -1.0 / x : sign * factorial / pow(x, n + 1.0);
    if (n == 0.0) {
        sum += log(x) - 0.5 / x;
        power = x * x;
        for (k = 0; k < 10; k++, power *= x * x) sum -= bernoulli[k] / (2.0 * (k + 1)) / power;
        return sum;
    }
    sum += sign * (factorial / n / pow(x, n) + factorial / (2.0 * pow(x, n + 1.0)));
    term = factorial * (n + 1.0) / 2.0 / pow(x, n + 2.0);
    for (k = 0; k < 10; k++) {
        sum += sign * bernoulli[k] * term;
        term *= (n + 2.0 * k + 2.0) * (n + 2.0 * k + 3.0) / ((2.0 * k + 3.0) * (2.0 * k + 4.0)) / (x * x);
    }
    return sum;
}",
    ),
    (
        "history",
        "/* The states of a loop, round by round, for the way back. */
struct history { double *data; size_t count, room, at; };

static int remember(struct history *past, size_t states)
{
    if (past->count == past->room) {
        const size_t room = past->room ? 2 * past->room : 64;
        double *data = realloc(past->data, room * (states ? states : 1) * sizeof(double));
        if (!data) return 0;
        past->data = data;
        past->room = room;
    }
    return 1;
}",
    ),
];

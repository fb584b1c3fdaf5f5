//! Tokens and money. A call reserves the most that it can cost before it is made, so calls side by side never pass the
//! cap together; what it did cost is settled when the answer is there. A reservation that was never settled, because
//! the process died or the server may have worked for nothing, stays charged in full.

use crate::error::{Error, Kind, cancelled};
use crate::message::{LOOK, Request, Stop, Usage};
use crate::record::{Event, Record};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// The price of a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Of messages.
    pub input: f64,
    /// Of answers, thoughts included.
    pub output: f64,
}

/// An amount of money in units of 1e-12: prices of single tokens are whole numbers of them, so sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Money(pub u64);

impl Money {
    /// From the unit of the prices; rounded up. None if it is negative, not a number or beyond ten million.
    pub fn new(amount: f64) -> Option<Money> {
        (0.0..=1e7).contains(&amount).then(|| Money((amount * 1e12).ceil() as u64))
    }

    /// In the unit of the prices.
    pub fn amount(self) -> f64 {
        self.0 as f64 / 1e12
    }

    fn plus(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }
}

impl Price {
    /// What some tokens cost.
    pub fn of(&self, usage: Usage) -> Money {
        let each = |price: f64, tokens: u64| Money((price * 1e6).ceil().max(0.0) as u64).0.saturating_mul(tokens);
        Money(each(self.input, usage.input)).plus(Money(each(self.output, usage.output)))
    }
}

/// What a run may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// The cap and the price; without them, calls are free.
    pub money: Option<(Money, Price)>,
    /// Calls at most.
    pub calls: Option<u64>,
    /// Tokens at most.
    pub tokens: Option<u64>,
}

impl Budget {
    /// The budget of a provider that is paid for by tokens: `money` is a cap or the word `none`. A model whose price is
    /// not known is refused, since no cap could hold.
    pub fn paid(money: Option<&str>, price: Option<Price>) -> Result<Budget, Error> {
        let wrong = |message: String, hint: &str| Err(Error::new(Kind::Settings, message, hint));
        let Some(money) = money.map(str::trim) else {
            return wrong(
                "nobody says how much money the model may cost".into(),
                "set money to a cap, or to none for a model that costs nothing",
            );
        };
        if money.eq_ignore_ascii_case("none") {
            return Ok(Budget::default());
        }
        let Some(cap) = money.parse().ok().and_then(Money::new) else {
            return wrong(format!("{money} is not an amount of money"), "write a number such as 2.50, or none");
        };
        let Some(price) = price else {
            return wrong(
                "the price of the model is not known, so no cap can hold".into(),
                "set price to the prices of a million tokens in and out, or money to none",
            );
        };
        let fine = |p: f64| p.is_finite() && (0.0..=1e6).contains(&p);
        if !fine(price.input) || !fine(price.output) {
            return wrong("a price is negative or not a number".into(), "write the prices as 0.25,1.0");
        }
        Ok(Budget { money: Some((cap, price)), ..Budget::default() })
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Calls that were made.
    pub calls: u64,
    /// Calls that were settled with an answer.
    pub answered: u64,
    /// Calls without an answer that are charged in full.
    pub lost: u64,
    /// Tokens of all calls.
    pub usage: Usage,
    /// Money of all calls.
    pub money: Money,
    /// Calls that cost more than they had reserved: the server counts in another way or ignores the limit.
    pub overruns: u64,
}

#[derive(Debug, Default)]
struct Books {
    spent: Spent,
    open: BTreeMap<u64, Reserved>,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Reserved {
    usage: Usage,
    money: Money,
}

/// The ledger of a run.
#[derive(Debug)]
pub struct Ledger {
    budget: Budget,
    books: Mutex<Books>,
    settled: Condvar,
    record: Option<Arc<Record>>,
}

/// A call that may be made. Dropped without being settled, it stays charged in full.
#[derive(Debug)]
pub struct Reservation<'a> {
    ledger: &'a Ledger,
    id: u64,
    open: bool,
}

impl Ledger {
    /// The ledger of a run, with what its record says about earlier calls.
    pub fn new(budget: Budget, record: Option<Arc<Record>>) -> Ledger {
        let mut books = Books::default();
        let events = record.as_ref().map(|r| r.events()).unwrap_or_default();
        for event in events {
            match event {
                Event::Reserve { id, usage, money } => {
                    books.next = books.next.max(id + 1);
                    books.spent.calls += 1;
                    books.open.insert(id, Reserved { usage, money });
                }
                Event::Settle { id, usage, money } => {
                    if let Some(reserved) = books.open.remove(&id) {
                        books.settle(reserved, usage, money);
                    }
                }
                Event::Answer { .. } => {}
            }
        }
        // Nobody will settle these any more.
        for reserved in std::mem::take(&mut books.open).into_values() {
            books.lose(reserved);
        }
        Ledger { budget, books: Mutex::new(books), settled: Condvar::new(), record }
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// What was spent, without what is reserved.
    pub fn spent(&self) -> Spent {
        self.books().spent
    }

    /// What was spent or is reserved.
    pub fn committed(&self) -> Money {
        let books = self.books();
        books.open.values().fold(books.spent.money, |sum, r| sum.plus(r.money))
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Nothing panics between two changes that belong together.
        self.books.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Reserves a call. Where only calls that are under way stand in the way, it waits for them.
    pub fn reserve(&self, request: &Request, stop: Stop<'_>) -> Result<Reservation<'_>, Error> {
        let most = Usage { input: request.most_input_tokens(), output: request.max_tokens };
        let money = self.budget.money.map_or(Money(0), |(_, price)| price.of(most));
        let mut books = self.books();
        loop {
            if stop() {
                return Err(cancelled());
            }
            match self.room(&books, most, money) {
                Room::Enough => break,
                Room::Later => {
                    books = self.settled.wait_timeout(books, LOOK).unwrap_or_else(|e| e.into_inner()).0;
                }
                Room::Never(error) => return Err(error),
            }
        }
        let id = books.next;
        // The reservation is on the disk before anything is sent.
        if let Some(record) = &self.record {
            record.write(&Event::Reserve { id, usage: most, money })?;
        }
        books.next += 1;
        books.spent.calls += 1;
        books.open.insert(id, Reserved { usage: most, money });
        Ok(Reservation { ledger: self, id, open: true })
    }

    fn room(&self, books: &Books, most: Usage, money: Money) -> Room {
        let budget = |message: String| Room::Never(Error::new(Kind::Budget, message, "raise the budget or end here"));
        if self.budget.calls.is_some_and(|cap| books.spent.calls >= cap) {
            return budget(format!("all {} calls of the budget were made", books.spent.calls));
        }
        let mut wait = false;
        if let Some((cap, _)) = self.budget.money {
            let reserved = books.open.values().fold(Money(0), |sum, r| sum.plus(r.money));
            if books.spent.money.plus(money) > cap {
                return budget(format!(
                    "a call may cost {:.6}, and {:.6} of {:.6} are spent",
                    money.amount(),
                    books.spent.money.amount(),
                    cap.amount()
                ));
            }
            wait |= books.spent.money.plus(reserved).plus(money) > cap;
        }
        if let Some(cap) = self.budget.tokens {
            let (total, spent) = (most.input + most.output, books.spent.usage.input + books.spent.usage.output);
            let reserved: u64 = books.open.values().map(|r| r.usage.input + r.usage.output).sum();
            if spent.saturating_add(total) > cap {
                return budget(format!("a call may take {total} tokens, and {spent} of {cap} are spent"));
            }
            wait |= spent.saturating_add(reserved).saturating_add(total) > cap;
        }
        if wait { Room::Later } else { Room::Enough }
    }

    /// What some rounds of calls would cost, at most and likely, and how many rounds the budget allows for sure.
    pub fn estimate(&self, request: &Request, calls: u64) -> Estimate {
        let most = Usage { input: request.most_input_tokens(), output: request.max_tokens };
        // Answers are mostly a third of what is allowed.
        let likely = Usage { input: request.likely_input_tokens(), output: request.max_tokens.div_ceil(3) };
        let price = self.budget.money.map(|(_, price)| price);
        let of = |usage| price.map_or(Money(0), |p| p.of(usage));
        let mut rounds = self.budget.calls.map(|n| n / calls.max(1));
        let mut least = |n: u64| rounds = Some(rounds.map_or(n, |r| r.min(n)));
        if let Some((cap, price)) = self.budget.money {
            let round = price.of(likely).0.saturating_mul(calls);
            if let Some(n) = cap.0.checked_div(round) {
                // The last call of a round must fit with its whole reservation.
                let rest = cap.0.saturating_sub(price.of(most).0);
                least(if cap < price.of(most) { 0 } else { n.min(rest / round + 1) });
            }
        }
        if let Some(cap) = self.budget.tokens {
            least(cap / ((likely.input + likely.output) * calls.max(1)).max(1));
        }
        Estimate { most: of(most), likely: of(likely), rounds }
    }
}

/// What a call costs and how far the budget goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The most that a call costs.
    pub most: Money,
    /// What a call likely costs.
    pub likely: Money,
    /// Rounds that the budget likely allows; none if it has no end.
    pub rounds: Option<u64>,
}

impl Estimate {
    /// A warning, if there are fewer than three rounds.
    pub fn warning(&self) -> Option<String> {
        let rounds = self.rounds.filter(|n| *n < 3)?;
        Some(format!("the budget allows {rounds} rounds of proposals; a search learns nothing from fewer than three"))
    }
}

enum Room {
    Enough,
    Later,
    Never(Error),
}

impl Books {
    fn settle(&mut self, reserved: Reserved, usage: Usage, money: Money) {
        self.spent.answered += u64::from(usage != Usage::default());
        self.add(usage, money);
        self.spent.overruns += u64::from(money > reserved.money || usage.output > reserved.usage.output);
    }

    fn lose(&mut self, reserved: Reserved) {
        self.spent.lost += 1;
        self.add(reserved.usage, reserved.money);
    }

    fn add(&mut self, usage: Usage, money: Money) {
        self.spent.usage.input = self.spent.usage.input.saturating_add(usage.input);
        self.spent.usage.output = self.spent.usage.output.saturating_add(usage.output);
        self.spent.money = self.spent.money.plus(money);
    }
}

impl Reservation<'_> {
    /// The call was answered. Without a count of the tokens, the whole reservation is charged.
    pub fn settle(mut self, usage: Option<Usage>) -> Result<(), Error> {
        self.close(usage)
    }

    /// The call was refused and costs nothing.
    pub fn release(mut self) -> Result<(), Error> {
        self.close(Some(Usage::default()))
    }

    fn close(&mut self, usage: Option<Usage>) -> Result<(), Error> {
        let ledger = self.ledger;
        let mut books = ledger.books();
        self.open = false;
        let Some(reserved) = books.open.remove(&self.id) else { return Ok(()) };
        let usage = usage.unwrap_or(reserved.usage);
        let money = ledger.budget.money.map_or(Money(0), |(_, price)| price.of(usage));
        books.settle(reserved, usage, money);
        drop(books);
        ledger.settled.notify_all();
        match &ledger.record {
            Some(record) => record.write(&Event::Settle { id: self.id, usage, money }),
            None => Ok(()),
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.open {
            let mut books = self.ledger.books();
            if let Some(reserved) = books.open.remove(&self.id) {
                books.lose(reserved);
            }
            drop(books);
            self.ledger.settled.notify_all();
        }
    }
}

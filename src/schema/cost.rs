//! What it costs to hold a regular expression against a text.
//!
//! A match in linear time takes, for each byte of a text, as many steps as the states of the automaton that are active
//! there: a few for most expressions, tens of thousands for one with large counts. Which it is for a text is found out
//! by walking its states and counting, in both directions, as the engine may take either; the engine itself can neither
//! be counted nor stopped. It is run only where the count was within the budget of the call.

use regex_automata::nfa::thompson::{Compiler, Config, NFA, State, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use crate::budget::{Budget, Exhausted};

/// How many steps are taken between two charges.
const STRIDE: usize = 4096;

/// The automata of one expression: ahead, and where they can be made from the end back.
pub(super) struct Cost {
    ahead: NFA,
    back: Option<NFA>,
}

impl Cost {
    /// Of an expression as the `regex` crate writes it.
    pub(super) fn of(expression: &str) -> Option<Cost> {
        Some(Cost { ahead: automaton(expression, false)?, back: automaton(expression, true) })
    }

    /// The most steps that a text of so many bytes can take.
    pub(super) fn most(&self, bytes: usize) -> usize {
        let states = self.ahead.states().len() + self.back.as_ref().map_or(0, |back| back.states().len());
        states.saturating_mul(bytes.saturating_add(1))
    }

    /// Charges what a text takes.
    pub(super) fn charge(&self, text: &str, budget: &Budget) -> Result<(), Exhausted> {
        Walk::new(&self.ahead, budget).go(text.as_bytes())?;
        let Some(back) = &self.back else { return budget.charge_work(self.most(text.len())) };
        let level = budget.memory_mark();
        budget.charge_memory(text.len())?;
        let reversed_bytes: Vec<u8> = text.bytes().rev().collect();
        let walked = Walk::new(back, budget).go(&reversed_bytes);
        budget.release_to(level, 0);
        walked
    }
}

fn automaton(expression: &str, reverse: bool) -> Option<NFA> {
    let config = Config::new().which_captures(WhichCaptures::None).reverse(reverse).nfa_size_limit(Some(64 << 20));
    Compiler::new().configure(config).build(expression).ok()
}

/// A walk of all states that are active at once through a text.
struct Walk<'a> {
    automaton: &'a NFA,
    budget: &'a Budget,
    /// The states that wait for the next byte.
    active: Vec<StateID>,
    ahead: Vec<StateID>,
    /// At which round each state was last reached.
    reached: Vec<usize>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn new(automaton: &'a NFA, budget: &'a Budget) -> Walk<'a> {
        let reached = vec![0; automaton.states().len()];
        // To make room for the states is work too.
        let steps = reached.len() / 16;
        Walk { automaton, budget, active: Vec::new(), ahead: Vec::new(), reached, steps }
    }

    fn go(mut self, text: &[u8]) -> Result<(), Exhausted> {
        self.follow(self.automaton.start_unanchored(), text, 0);
        for (at, byte) in text.iter().enumerate() {
            let active = std::mem::take(&mut self.active);
            if active.is_empty() {
                break;
            }
            for state in &active {
                if let Some(next) = self.taken(*state, *byte) {
                    self.follow(next, text, at + 1);
                }
            }
            self.steps += active.len();
            if self.steps >= STRIDE {
                self.budget.charge_work(self.steps)?;
                self.steps = 0;
            }
        }
        self.budget.charge_work(self.steps)
    }

    fn taken(&self, state: StateID, byte: u8) -> Option<StateID> {
        match self.automaton.states().get(state.as_usize())? {
            State::ByteRange { trans } if trans.matches_byte(byte) => Some(trans.next),
            State::Sparse(transitions) => transitions.matches_byte(byte),
            State::Dense(transitions) => transitions.matches_byte(byte),
            _ => None,
        }
    }

    /// Follows what takes no byte, from a state that is reached at a place.
    fn follow(&mut self, from: StateID, text: &[u8], at: usize) {
        self.ahead.push(from);
        while let Some(id) = self.ahead.pop() {
            self.steps += 1;
            let Some(reached) = self.reached.get_mut(id.as_usize()) else { continue };
            // Rounds begin with 1: at 0 no state has been reached.
            if std::mem::replace(reached, at + 1) == at + 1 {
                continue;
            }
            match self.automaton.states().get(id.as_usize()) {
                Some(State::ByteRange { .. } | State::Sparse(_) | State::Dense(_)) => self.active.push(id),
                Some(State::Union { alternates }) => self.ahead.extend(alternates.iter()),
                Some(State::BinaryUnion { alt1, alt2 }) => self.ahead.extend([*alt1, *alt2]),
                Some(State::Capture { next, .. }) => self.ahead.push(*next),
                Some(State::Look { look, next }) if self.may_hold(*look, text, at) => self.ahead.push(*next),
                _ => {}
            }
        }
    }

    /// Whether an assertion may hold: those of words, which read letters of several bytes, are taken to.
    fn may_hold(&self, look: Look, text: &[u8], at: usize) -> bool {
        let is_anchor =
            matches!(look, Look::Start | Look::End | Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF);
        !is_anchor || self.automaton.look_matcher().matches(look, text, at)
    }
}

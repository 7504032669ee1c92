//! The cost of matching a regular expression.
//!
//! A linear match takes, for each byte, as many steps as states of the automaton are active: few for most expressions, tens
//! of thousands for one with large counts. A walk of the states counts them, in both directions, as the engine may take
//! either; the engine itself can neither count nor stop. It runs only where the count is within the budget.

use regex_automata::nfa::thompson::{Compiler, Config, NFA, State, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use crate::budget::{Budget, BudgetExceeded};

/// How many steps one charge covers.
const STRIDE: usize = 4096;

/// The automata of one expression: forward, and backward where that compiles.
pub(super) struct PatternCost {
    forward: NFA,
    backward: Option<NFA>,
}

impl PatternCost {
    /// The cost of an expression of the `regex` crate.
    pub(super) fn compile(expression: &str) -> Option<PatternCost> {
        Some(PatternCost { forward: automaton(expression, false)?, backward: automaton(expression, true) })
    }

    /// The most steps for a text of so many bytes.
    pub(super) fn max_steps(&self, bytes: usize) -> usize {
        let states = self.forward.states().len() + self.backward.as_ref().map_or(0, |backward| backward.states().len());
        states.saturating_mul(bytes.saturating_add(1))
    }

    /// Charges the steps of a text.
    pub(super) fn charge(&self, text: &str, budget: &Budget) -> Result<(), BudgetExceeded> {
        NfaRun::new(&self.forward, budget).run(text.as_bytes())?;
        let Some(backward) = &self.backward else { return budget.charge_work(self.max_steps(text.len())) };
        let mark = budget.memory_mark();
        budget.charge_memory(text.len())?;
        let reversed_bytes: Vec<u8> = text.bytes().rev().collect();
        let walked = NfaRun::new(backward, budget).run(&reversed_bytes);
        budget.release_to(mark, 0);
        walked
    }
}

fn automaton(expression: &str, reverse: bool) -> Option<NFA> {
    let config = Config::new().which_captures(WhichCaptures::None).reverse(reverse).nfa_size_limit(Some(64 << 20));
    Compiler::new().configure(config).build(expression).ok()
}

/// A walk of the active states through a text.
struct NfaRun<'a> {
    automaton: &'a NFA,
    budget: &'a Budget,
    /// The states before the next byte.
    active: Vec<StateID>,
    ahead: Vec<StateID>,
    /// The round in which each state was last reached.
    reached: Vec<usize>,
    steps: usize,
}

impl<'a> NfaRun<'a> {
    fn new(automaton: &'a NFA, budget: &'a Budget) -> NfaRun<'a> {
        let reached = vec![0; automaton.states().len()];
        // Allocating the states is work too.
        let steps = reached.len() / 16;
        NfaRun { automaton, budget, active: Vec::new(), ahead: Vec::new(), reached, steps }
    }

    fn run(mut self, text: &[u8]) -> Result<(), BudgetExceeded> {
        self.follow(self.automaton.start_unanchored(), text, 0);
        for (at, byte) in text.iter().enumerate() {
            let active = std::mem::take(&mut self.active);
            if active.is_empty() {
                break;
            }
            for state in &active {
                if let Some(next) = self.next_state(*state, *byte) {
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

    fn next_state(&self, state: StateID, byte: u8) -> Option<StateID> {
        match self.automaton.states().get(state.as_usize())? {
            State::ByteRange { trans } if trans.matches_byte(byte) => Some(trans.next),
            State::Sparse(transitions) => transitions.matches_byte(byte),
            State::Dense(transitions) => transitions.matches_byte(byte),
            _ => None,
        }
    }

    /// Follows the transitions without a byte from a state.
    fn follow(&mut self, from: StateID, text: &[u8], at: usize) {
        self.ahead.push(from);
        while let Some(id) = self.ahead.pop() {
            self.steps += 1;
            let Some(reached) = self.reached.get_mut(id.as_usize()) else { continue };
            // Rounds start at 1: at 0 no state is reached.
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

    /// Whether an assertion may hold; word boundaries, which read several bytes, are assumed to.
    fn may_hold(&self, look: Look, text: &[u8], at: usize) -> bool {
        let is_anchor =
            matches!(look, Look::Start | Look::End | Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF);
        !is_anchor || self.automaton.look_matcher().matches(look, text, at)
    }
}

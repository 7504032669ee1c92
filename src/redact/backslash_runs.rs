//! The ends of runs of backslashes, each found once: a text of backslashes has as many runs as positions.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::escape::backslash_end;

/// The longest run of backslashes: as many as before a quote in JSON that is escaped six times.
const MAX_BACKSLASHES: usize = 64;
/// A run up to this length is read where it stands.
const MAX_SHORT_RUN: usize = 4;
/// The size of the blocks of a text whose runs are kept, and how many of them.
const BLOCK_BYTES: usize = 4096;
const MAX_BLOCKS: usize = 16;

/// The long runs of one text that were met lately.
#[derive(Debug, Default)]
pub(super) struct BackslashRuns {
    /// Each block at its number modulo their count; none before a long run is met.
    blocks: RefCell<Vec<Block>>,
}

impl BackslashRuns {
    /// The end of the backslashes at `at`, of which each may be percent-encoded; of a long run that of the first 64.
    pub(super) fn end(&self, text: &[u8], at: usize) -> usize {
        self.known_end(at).or_else(|| short_run_end(text, at)).unwrap_or_else(|| self.read_block(text, at))
    }

    fn known_end(&self, at: usize) -> Option<usize> {
        let blocks = self.blocks.borrow();
        let block = blocks.get(at / BLOCK_BYTES % MAX_BLOCKS)?;
        block.end(at)
    }

    fn read_block(&self, text: &[u8], at: usize) -> usize {
        let block = Block::read(text, at / BLOCK_BYTES * BLOCK_BYTES);
        let end = block.end(at).unwrap_or(at);
        let mut blocks = self.blocks.borrow_mut();
        blocks.resize_with(MAX_BLOCKS, Block::default);
        if let Some(place) = blocks.get_mut(at / BLOCK_BYTES % MAX_BLOCKS) {
            *place = block;
        }
        end
    }
}

/// The end of a run, unless it is long.
fn short_run_end(text: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..MAX_SHORT_RUN {
        match backslash_end(text, at) {
            Some(end) => at = end,
            None => return Some(at),
        }
    }
    None
}

/// The runs that start in one block of a text.
#[derive(Debug, Default)]
struct Block {
    start: usize,
    /// The length of the run at each position.
    lengths: Vec<u16>,
}

impl Block {
    fn read(text: &[u8], start: usize) -> Block {
        let behind = text.len().min(start + BLOCK_BYTES);
        let mut block = Block { start, lengths: vec![0; BLOCK_BYTES] };
        // The backslashes whose runs go on, and how many have followed behind the block.
        let (mut open, mut followed) = (VecDeque::new(), 0);
        let mut at = start;
        while at < behind || !open.is_empty() {
            let Some(end) = backslash_end(text, at) else {
                open.drain(..).for_each(|start| block.set_end(start, at));
                at += 1;
                continue;
            };
            if at < behind {
                open.push_back(at)
            } else {
                followed += 1
            }
            if open.len() + followed == MAX_BACKSLASHES {
                open.pop_front().into_iter().for_each(|start| block.set_end(start, end));
            }
            at = end;
        }
        block
    }

    fn set_end(&mut self, at: usize, end: usize) {
        let length = u16::try_from(end - at).unwrap_or_default();
        self.lengths.get_mut(at - self.start).into_iter().for_each(|place| *place = length);
    }

    /// The end of the run at a position; `None` where that is in another block.
    fn end(&self, at: usize) -> Option<usize> {
        let length = self.lengths.get(at.checked_sub(self.start)?)?;
        Some(at + usize::from(*length))
    }
}

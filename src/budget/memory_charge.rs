//! `MemoryCharge`: memory that is released when what it is for is dropped.

use super::{Budget, BudgetExceeded};

/// Memory of a call for something that ends before the call.
#[derive(Debug)]
pub struct MemoryCharge {
    budget: Budget,
    bytes: usize,
}

impl MemoryCharge {
    /// Nothing yet.
    pub fn new(budget: &Budget) -> MemoryCharge {
        MemoryCharge { budget: budget.clone(), bytes: 0 }
    }

    /// Whether the call may hold so much more.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        self.budget.has_memory_for(bytes)
    }

    /// Charges more memory before it is allocated.
    ///
    /// # Errors
    /// As those of [`Budget::charge_memory`].
    pub fn grow(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.budget.charge_memory(bytes)?;
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Charges more memory; where all calls together hold too much, it waits.
    ///
    /// # Errors
    /// As those of [`Budget::charge_memory_when_free`].
    pub async fn grow_when_free(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.budget.charge_memory_when_free(bytes).await?;
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

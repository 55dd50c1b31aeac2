//! Threads that encode files and bring them to disk while rows are gathered. Waiting for the disk is most of it, so there
//! are more of them than cores may be.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::error::{Error, Result};

/// Each holds the rows of one file.
const THREADS: usize = 4;

type Job = Box<dyn FnOnce() -> Result<()> + Send>;

/// The threads. Dropped, they finish what they have begun.
pub(super) struct Workers {
    jobs: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<()>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Workers {
    pub(super) fn new() -> Self {
        // Nothing waits in between: what is held is bounded by the number of threads.
        let (sender, jobs) = sync_channel(0);
        let jobs = Arc::new(Mutex::new(jobs));
        let failure = Arc::default();
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let (jobs, failure) = (Arc::clone(&jobs), Arc::clone(&failure));
            match thread::Builder::new().spawn(move || work(&jobs, &failure)) {
                Ok(thread) => threads.push(thread),
                // The system has no more; those that there are do the work.
                Err(_) => break,
            }
        }
        let jobs = (!threads.is_empty()).then_some(sender);
        Workers { jobs, threads, failure }
    }

    /// Have it done, now or soon. Tells how something earlier failed.
    pub(super) fn submit(&self, job: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        match &self.jobs {
            Some(jobs) => {
                // The other end is there as long as this one.
                let _ = jobs.send(Box::new(job));
                self.failed()
            }
            None => job(),
        }
    }

    /// Wait until all is done.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        self.failed()
    }

    fn failed(&self) -> Result<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, failure: &Mutex<Option<Error>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        if let Err(error) = job() {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn everything_is_done_and_failures_are_told() {
        let mut workers = Workers::new();
        let sum = Arc::new(AtomicU64::new(0));
        for number in 1..=100 {
            let sum = Arc::clone(&sum);
            let job = move || {
                sum.fetch_add(number, Ordering::Relaxed);
                Ok(())
            };
            workers.submit(job).unwrap();
        }
        workers.finish().unwrap();
        assert_eq!(sum.load(Ordering::Relaxed), 5050);

        let mut workers = Workers::new();
        let told = workers.submit(|| Err(Error::Occupied("a".into())));
        let later = workers.finish();
        assert!([told, later].iter().any(|told| matches!(told, Err(Error::Occupied(_)))));
    }
}

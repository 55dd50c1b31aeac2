//! Many logs side by side: whoever is free takes the next one, and what came of them stays in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What a worker gives for each of `items`, in their order, or the first error in that order. There are at most `jobs`
/// threads, this one among them, each with a worker of its own; after an error nothing more is begun.
pub(crate) fn each<'a, T, R, E, W>(
    items: &'a [T],
    jobs: usize,
    worker: impl Fn() -> W + Sync,
) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send,
    E: Send,
    W: FnMut(&'a T) -> Result<R, E>,
{
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Result<R, E>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let run = || {
        let mut work = worker();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(item), Some(slot)) = (items.get(at), slots.get(at)) else { break };
            let done = work(item);
            if done.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs.min(items.len()) {
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                // The system has no more; those that there are do the work.
                break;
            }
        }
        run();
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_work() {
        let items: Vec<u32> = (0..200).collect();
        for jobs in [0, 1, 2, 7] {
            let done: Result<Vec<u32>, ()> = each(&items, jobs, || |item: &u32| Ok(item * 2));
            assert_eq!(done.unwrap(), items.iter().map(|item| item * 2).collect::<Vec<_>>(), "{jobs} jobs");
        }
    }

    #[test]
    fn the_first_error_ends_it() {
        let items: Vec<usize> = (0..200).collect();
        for jobs in [1, 3] {
            let begun = AtomicUsize::new(0);
            let done: Result<Vec<usize>, usize> = each(&items, jobs, || {
                |item: &usize| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if *item < 5 { Ok(*item) } else { Err(*item) }
                }
            });
            assert_eq!(done, Err(5), "{jobs} jobs");
            // How far others come until they see it nobody knows.
            assert!(jobs > 1 || begun.into_inner() == 6, "{jobs} jobs");
        }
    }
}

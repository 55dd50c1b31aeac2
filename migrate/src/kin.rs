//! The subagents of many sessions, looked up once a root, and looked at again before something is published.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use dshlog_codec::Limits;
use dshlog_codec::json::JsString;

use crate::children::{Child, Evidence, Fact, Families};
use crate::problem::Problem;
use crate::vfs::{OsFs, Vfs};

/// The subagents below the roots met so far. The headers of a root are read when a log first needs them.
#[derive(Debug, Default)]
pub struct Kin(Mutex<HashMap<PathBuf, Arc<Families>>>);

impl Kin {
    /// What is known of the children of a session. See [`Families::evidence`].
    pub fn evidence(&self, root: &Path, id: &JsString, limits: &Limits) -> dshlog_codec::Result<Evidence> {
        let families = self.families(root)?;
        match families.evidence(id, limits) {
            // What was read when the root was first looked at may not be so any more.
            Err(_) if families.is_stale() => self.renew(root, &families)?.evidence(id, limits),
            evidence => evidence,
        }
    }

    /// Refuse evidence that does not hold any more (`docs/spec/storage.md`, 13.3): a log that was read is another one, or
    /// a child was made.
    ///
    /// The official reader refuses too when a child was migrated meanwhile. Here the child's new log only has to say the
    /// same, since whoever migrates a whole home does just this.
    pub fn recheck(
        &self,
        root: &Path,
        id: &JsString,
        evidence: &Evidence,
        limits: &Limits,
    ) -> Result<(), Problem> {
        for (path, before) in &evidence.files {
            if OsFs.identity(path).ok() != Some(*before) {
                return Err(Problem::Changed { path: path.clone() });
            }
        }
        let mut families = self.families(root)?;
        if families.is_stale() {
            families = self.renew(root, &families)?;
        }
        let mut logs = families.logs(id)?;
        let mut before: Vec<_> = evidence.files.iter().map(|(path, _)| path.clone()).collect();
        logs.sort();
        before.sort();
        if logs == before || facts(&families.evidence(id, limits)?) == facts(evidence) {
            return Ok(());
        }
        let new = logs.into_iter().find(|log| !before.contains(log));
        Err(Problem::Changed { path: new.or(before.pop()).unwrap_or_else(|| root.to_owned()) })
    }

    /// Whoever else needs the same root waits: it would only read the same headers.
    fn families(&self, root: &Path) -> dshlog_codec::Result<Arc<Families>> {
        let mut roots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(families) = roots.get(root) {
            return Ok(Arc::clone(families));
        }
        let families = Arc::new(Families::below(root)?);
        if families.is_lasting() {
            roots.insert(root.to_owned(), Arc::clone(&families));
        }
        Ok(families)
    }

    /// Read the headers anew, unless another thread has just done so.
    fn renew(&self, root: &Path, stale: &Arc<Families>) -> dshlog_codec::Result<Arc<Families>> {
        {
            let mut roots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if roots.get(root).is_some_and(|there| Arc::ptr_eq(there, stale)) {
                roots.remove(root);
            }
        }
        self.families(root)
    }
}

/// What a migration takes out of evidence, in an order of its own.
fn facts(evidence: &Evidence) -> Vec<(&JsString, u64, Option<&Fact>)> {
    let mut children: Vec<&Child> = evidence.children.iter().collect();
    children.sort_by(|a, b| (&a.id, a.created_at).cmp(&(&b.id, b.created_at)));
    children.into_iter().map(|child| (&child.id, child.created_at, child.fact.as_ref())).collect()
}

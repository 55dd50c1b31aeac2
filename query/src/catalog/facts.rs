//! What the catalog tells a search.

use dshlog_codec::Seq;
use rusqlite::{OptionalExtension as _, params};

use super::{Catalog, LogRow};
use crate::error::Result;
use crate::index::Facts;
use crate::session::Session;

impl Facts for Catalog {
    fn sessions(&self) -> Result<Vec<(u64, Session)>> {
        let mut select = self.database.prepare_cached(&LogRow::select("ORDER BY log"))?;
        let rows = select.query_map([], |row| LogRow::of(row).map(|row| (row.log, row.session())))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn session(&self, log: u64) -> Result<Option<Session>> {
        let mut select = self.database.prepare_cached(&LogRow::select("WHERE log = ?1"))?;
        let row = select.query_row([log], LogRow::of).optional()?;
        Ok(row.map(|row| row.session()))
    }

    fn replaced(&self) -> Result<Vec<(u64, Seq)>> {
        let mut select = self.database.prepare_cached("SELECT log, seq FROM replaced")?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, Seq(row.get(1)?))))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn replaced_by(&self, log: u64, seq: Seq) -> Result<Option<Seq>> {
        let mut select =
            self.database.prepare_cached("SELECT by FROM replaced WHERE log = ?1 AND seq = ?2")?;
        Ok(select.query_row(params![log, seq.0], |row| row.get(0).map(Seq)).optional()?)
    }

    fn copies(&self, id: &str, seq: Seq) -> Result<Vec<String>> {
        let of = "SELECT session, inherited FROM logs WHERE parent = ?1 AND skips_inherited";
        let mut select = self.database.prepare_cached(of)?;
        crate::index::copies(id, seq, |parent| {
            let rows = select.query_map([parent], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

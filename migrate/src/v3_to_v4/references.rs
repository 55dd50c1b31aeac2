//! Seqs that events name, behind the first insertion (`docs/spec/events-v4.md`, section 10.5).

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Js, Tree};

use crate::fault::{Check, malformed, shown};
use crate::shift::Shift;

/// Map the references of a known event: of its envelope into `members`, of its payload in `data`.
pub(super) fn carry<'a>(
    event: &Event<'a>,
    kind: EventType,
    shift: &Shift,
    members: &mut Vec<(&'static str, Tree<'a>)>,
    data: &mut Option<Tree<'a>>,
) -> Check {
    let own = event.seq.0;
    if let Some(op) = event.surface_op().filter(|op| !op.is("append")) {
        members.push(("surfaceOp", endpoints(op, ["startSeq", "endSeq"], shift, own, "/surfaceOp")?));
    }
    if let Some(sources) = event.source_seqs() {
        members.push(("sourceEventSeqs", shift.sources(sources, own)?));
    }
    match kind {
        EventType::CommandDone => {
            let payload = object(event)?;
            if let Some(seq) = payload.get("sourceEventSeq") {
                set(data, "sourceEventSeq", shift.reference(Some(seq), own, "/data/sourceEventSeq")?);
            }
        }
        EventType::CompactionSummary | EventType::CompactionPrune => {
            let payload = object(event)?;
            let range = payload.get("shadowedRange");
            let Some(range) = range.filter(|range| range.is_object()) else {
                return malformed("reference", "/data/shadowedRange", shown(range));
            };
            let range = endpoints(range, ["start", "end"], shift, own, "/data/shadowedRange")?;
            let seqs = shift.references(payload.get("shadowedSeqs"), own, "/data/shadowedSeqs")?;
            set(data, "shadowedRange", range);
            set(data, "shadowedSeqs", seqs);
        }
        EventType::Title | EventType::TitleRequest => {
            let payload = object(event)?;
            let seqs = shift.references(payload.get("messageSeqs"), own, "/data/messageSeqs")?;
            set(data, "messageSeqs", seqs);
        }
        EventType::ImageOffload => {
            const POINTER: &str = "/data/targets";
            let targets = object(event)?.get("targets");
            let Some(list) = targets.and_then(Js::as_array) else {
                return malformed("reference", POINTER, shown(targets));
            };
            let list: Check<Vec<_>> = list
                .map(|target| {
                    if !target.is_object() {
                        return malformed("reference", POINTER, shown(Some(target)));
                    }
                    let seq = shift.reference(target.get("seq"), own, POINTER)?;
                    Ok(Tree::from(Fields::of(target).with("seq", seq)))
                })
                .collect();
            set(data, "targets", Tree::Array(list?));
        }
        _ => {}
    }
    Ok(())
}

fn object<'a>(event: &Event<'a>) -> Check<Js<'a>> {
    match event.data.filter(|data| data.is_object()) {
        Some(data) => Ok(data),
        None => malformed("reference", "/data", shown(event.data)),
    }
}

fn endpoints<'a>(range: Js<'a>, names: [&str; 2], shift: &Shift, own: u64, pointer: &str) -> Check<Tree<'a>> {
    let mut fields = Fields::of(range);
    for name in names {
        fields.set(name, shift.reference(range.get(name), own, pointer)?);
    }
    Ok(fields.into())
}

fn set<'a>(data: &mut Option<Tree<'a>>, name: &str, value: Tree<'a>) {
    if let Some(fields) = data.as_mut().and_then(Tree::open) {
        fields.set(name, value);
    }
}

//! Moments as people type them.

use jiff::civil::DateTime;

use crate::ctx::Ctx;
use crate::exit::Failure;

/// `2026-11-30`, `2026-11-30T12:00`, `90m`, `3d`, `1w`, as epoch milliseconds.
pub(super) fn moment(ctx: &Ctx, text: &str) -> Result<i64, Failure> {
    let back = |unit: char| Some((text.strip_suffix(unit)?.parse::<u32>().ok()?, unit));
    if let Some((count, unit)) = ['m', 'h', 'd', 'w'].into_iter().find_map(back) {
        let unit = match unit {
            'm' => 60_000,
            'h' => 3_600_000,
            'd' => 86_400_000,
            _ => 604_800_000,
        };
        return Ok(ctx.now().saturating_sub(i64::from(count) * unit));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    let local =
        text.parse::<DateTime>().ok().and_then(|time| time.to_zoned_datetime(ctx.zone().clone()).ok());
    local.map(|time| time.timestamp().as_millisecond()).ok_or_else(|| {
        Failure::usage(format!("`{text}` is no time"))
            .hint("`2026-11-30`, `2026-11-30T12:00`, `90m`, `3d` and `1w` are")
    })
}

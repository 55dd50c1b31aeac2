// A plugin for the real runtime: opens the session HOLD_ID below HOLD_ROOT for writing, says so, and keeps it open until
// its input ends. Used by the lock tests, which start it with `--patch`.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

export const name = 'hold-lock'

export function apply(ctx) {
  hold(ctx).then(() => process.exit(0), error => {
    process.stderr.write(`${error?.stack ?? error}\n`)
    process.exit(2)
  })
}

async function hold(ctx) {
  await ctx.get('loader')?.await()
  const require = createRequire(ctx.get('profileContext').installAnchor)
  const load = pkg => import(pathToFileURL(require.resolve(`@deepseek-ai/${pkg}`)))
  const { SessionId } = await load('dsh-session')
  const fiber = ctx.plugin(await load('dsh-session-persistence-jsonl'), { root: process.env.HOLD_ROOT, compression: 'none' })
  await fiber
  const handle = await ctx.get('sessionPersistence').open(SessionId(process.env.HOLD_ID), 'write')
  process.stdout.write('held\n')
  for await (const _ of process.stdin);
  await handle.close()
}

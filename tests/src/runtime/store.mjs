// A plugin for the real runtime: answers questions about sessions through the runtime's own store, one JSON request a line
// on stdin, one JSON answer a line on stdout. Mounted into an otherwise empty profile with `--patch`.
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createInterface } from 'node:readline'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import threads from 'node:worker_threads'

export const name = 'dshlog-store'

export function apply(ctx) {
  serve(ctx).then(() => process.exit(0), error => {
    process.stderr.write(`${error?.stack ?? error}\n`)
    process.exit(2)
  })
}

async function serve(ctx) {
  await ctx.get('loader')?.await()
  const require = createRequire(ctx.get('profileContext').installAnchor)
  const load = pkg => import(pathToFileURL(require.resolve(`@deepseek-ai/${pkg}`)))
  const packages = {
    jsonl: await load('dsh-session-persistence-jsonl'),
    session: await load('dsh-session'),
    catalog: (await load('dsh-session-format-catalog')).sessionFormatCatalog,
    projections: await load('dsh-session-format-catalog/message-projections'),
  }
  placeVerifierOnDisk()
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    const answer = await ask(ctx, packages, request).catch(e => ({ error: e?.name ?? 'Error', message: String(e?.message ?? e) }))
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
}

async function ask(ctx, packages, { op, root, compression, id }) {
  const fiber = ctx.plugin(packages.jsonl, { root, compression })
  await fiber
  try {
    const store = ctx.get('sessionPersistence')
    const session = id === undefined ? undefined : packages.session.SessionId(id)
    if (op === 'list') {
      const sessions = await store.list()
      return { sessions: sessions.map(({ header, formatStatus }) => ({ id: header.id, status: formatStatus })) }
    }
    if (op === 'migrate') {
      const handle = await store.open(session, 'write')
      await handle.close()
      return { migrated: true }
    }
    const start = performance.now()
    const { events, meta, inheritedEventCount } = await store.requireStoredLog(session)
    if (op === 'forks') return { forks: forks(ctx, packages, { events, meta, inheritedEventCount }) }
    if (op === 'resumes') return { resumes: resumes(packages, { events, meta, inheritedEventCount }) }
    const restored = packages.session.Session.fromRestore(meta.id, [...events], meta, inheritedEventCount, 'detached',
      packages.projections.currentSessionMessageProjections)
    const messages = restored.deriveMessages()
    // Without the way of so much text through a pipe.
    if (op === 'derive') return { count: messages.length, ms: performance.now() - start, rss: process.memoryUsage.rss() }
    return { messages }
  } finally {
    await fiber.dispose()
  }
}

// The session forked behind each of its events, by the runtime's own operation: the header, the number of copied events, the
// rows that are added to them, and the digest of all rows.
function forks(ctx, { session: { SessionStore }, catalog }, { events, meta, inheritedEventCount }) {
  const store = new SessionStore(ctx.isolate?.('sessions') ?? ctx)
  const source = store.prepare(meta.id, { seed: [...events], meta, inheritedEventCount, eventState: 'detached' })
  store.enter(source)
  return events.map(({ seq }) => {
    const fork = store.fork(meta.id, seq, `fork-${seq}`)
    const rows = fork.snapshotEvents().map(event => JSON.stringify(catalog.encodeCurrentEvent(event)) + '\n')
    const cut = fork.inheritedEventCount
    // The store of logs adds what a session leaves out of its header.
    const header = catalog.encodeCurrentHeader({ delegationDepth: 0, ...fork.header }, cut)
    return { header, cut, own: rows.slice(cut), sha256: digest(rows) }
  })
}

// What the runtime appends to each beginning of a log when it opens it again. Beginnings that no session opens on are null.
function resumes({ session: { Session, interruptedTurnClosers }, projections, catalog }, { events, meta, inheritedEventCount }) {
  return [...events, undefined].map((_, length) => {
    const stored = events.slice(0, length)
    const closed = [...stored, ...interruptedTurnClosers(stored)]
    try {
      const restored = Session.fromRestore(meta.id, closed, meta, inheritedEventCount, 'detached',
        projections.currentSessionMessageProjections)
      return restored.snapshotEvents().slice(length).map(event => JSON.stringify(catalog.encodeCurrentEvent(event)))
    } catch { return null }
  })
}

function digest(rows) {
  const hash = createHash('sha256')
  rows.forEach(row => hash.update(row))
  return hash.digest('hex')
}

// A log is checked in a worker thread before it is published, and a worker thread cannot see the files that are packed
// into the executable, so every migration would fail. The thread is given a copy of its entry file on disk.
function placeVerifierOnDisk() {
  const packed = 'dsh-session-persistence-jsonl/lib/worker.cjs'
  const folder = join(process.env.DSH_HOME, 'verifier')
  threads.Worker = class extends threads.Worker {
    constructor(entry, options) {
      const path = entry instanceof URL && entry.protocol === 'file:' ? fileURLToPath(entry) : entry
      if (typeof path !== 'string' || !path.endsWith(packed)) { super(entry, options); return }
      mkdirSync(join(folder, 'lib'), { recursive: true })
      const description = JSON.parse(readFileSync(join(dirname(path), '..', 'package.json'), 'utf8'))
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...description, type: 'commonjs' }))
      writeFileSync(join(folder, 'lib', 'worker.cjs'), readFileSync(path))
      super(join(folder, 'lib', 'worker.cjs'), options)
    }
  }
  syncBuiltinESMExports()
}

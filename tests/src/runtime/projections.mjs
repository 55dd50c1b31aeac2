// A plugin for the real runtime: folds logs with the runtime's own projections. Mounted into the stock profile with
// `--patch`, where most of them register themselves; the others are taken out of their packages. One job a line in the file
// PROJECTION_JOBS: {"file": header and events of V4, one a line, "cut": n, "points": seqs}. One answer a line, for each job,
// projection and point, goes to the file PROJECTION_ANSWERS.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { readFileSync, writeFileSync } from 'node:fs'

export const name = 'dshlog-projections'

export function apply(ctx) {
  main(ctx).then(() => process.exit(0), error => {
    process.stderr.write(`${error?.stack ?? error}\n`)
    process.exit(2)
  })
}

async function main(ctx) {
  await ctx.get('loader')?.await()
  const definitions = await collect(ctx)
  const answers = []
  for (const job of read(process.env.PROJECTION_JOBS)) {
    const [header, ...events] = read(job.file)
    for (const definition of definitions.values()) {
      for (const answer of fold(definition, header, events, job)) answers.push(JSON.stringify(answer))
    }
  }
  writeFileSync(process.env.PROJECTION_ANSWERS, answers.map(answer => answer + '\n').join(''))
}

const read = file => readFileSync(file, 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line))

function* fold({ key, stateVersion, init, apply, wire }, header, events, { file, cut, points }) {
  let state = init(header, cut)
  let error = null
  let next = 0
  for (const event of events) {
    try {
      if (error === null) state = apply(state, event)
    } catch (caught) {
      error = { seq: event.seq, message: String(caught.message) }
    }
    if (event.seq !== points[next]) continue
    next += 1
    let view = null
    try {
      if (error === null && wire !== undefined) view = wire.viewSchema.parse(wire.view(state))
    } catch {
      // Clients are shown nothing rather than what they do not expect.
      view = undefined
    }
    yield { file, key, version: stateVersion, at: event.seq, shown: wire !== undefined, state: error === null ? state : null, view, error }
  }
}

async function collect(ctx) {
  // The tools of an agent register theirs when there is one.
  const registered = () => ctx.get('sessionProjections')?.registrations
  for (let waited = 0; !registered()?.has('todos'); waited += 50) {
    if (waited > 30_000) throw new Error('no projection of todos')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  const found = new Map([...registered()].map(([key, { def }]) => [key, def]))
  const require = createRequire(ctx.get('profileContext').installAnchor)
  const load = pkg => import(pathToFileURL(require.resolve(`@deepseek-ai/${pkg}`)))
  const register = definition => found.set(definition.key, definition)
  for (const pkg of ['dsh-session-stats', 'dsh-session-turn-outline']) {
    (await load(pkg)).apply({ sessionProjections: { register } })
  }
  register((await load('dsh-agent-preset-registry')).agentPresetProjectionDefinition)
  // These two are not exported: their text is cut out of the package.
  const file = require.resolve('@deepseek-ai/dsh-api-session-controller')
  const text = readFileSync(file, 'utf8')
  const cut = (from, to) => text.slice(text.indexOf(from), text.indexOf(to, text.indexOf(from)))
  const { z } = createRequire(file)('zod')
  const selection = cut('const modelSelectionSchema', '/**\n* Register the durable model-selection')
  register(new Function('z$1', `${selection}\nreturn modelSelectionProjection`)(z))
  const metadata = cut('function applySessionListMetadata', '/**\n* Return the longest prefix')
  register({
    key: 'sessionListMetadata',
    stateVersion: 1,
    init: () => ({ blank: true, lastPromptAt: null }),
    apply: new Function(`${metadata}\nreturn applySessionListMetadata`)(),
    wire: { viewSchema: z.any(), view: state => state },
  })
  return found
}

// A plugin for the real runtime: carries out the steps that DSHLOG_ACTIONS lists on the runtime's own services, then ends the
// process. Mounted with `--patch` into the headless profile, in place of its runner. The steps are those of `info.json` beside
// captured conversations.
import { randomUUID } from 'node:crypto'

export const name = 'dshlog-actions'
export const inject = ['agents', 'agentDefaultModel', 'sessions', 'commands']

export function apply(ctx) {
  run(ctx, JSON.parse(process.env.DSHLOG_ACTIONS)).then(() => process.exit(0), error => {
    process.stderr.write(`${error?.stack ?? error}\n`, () => process.exit(1))
  })
}

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

const asked = async () => (await (await fetch(`${process.env.DEEPSEEK_BASE_URL}/admin`)).json()).requests

/** True when nobody asks the server for a while: a subagent that is done wakes its parent. */
async function isQuiet() {
  const before = await asked()
  await sleep(1000)
  const after = await asked()
  return before.length === after.length && after.every(({ answer }) => answer !== null)
}

/** Wait until the server answers a request of the agent and has nothing more to say. */
async function underWay() {
  for (;;) {
    if ((await asked()).some(({ kind, answer }) => kind === 'agent' && answer === null)) break
    await sleep(50)
  }
  await sleep(1000)
}

async function run(ctx, actions) {
  await ctx.get('loader')?.await()
  const { provider, model, reasoningEffort } = ctx.agentDefaultModel.currentSelection()
  const agentOptions = { provider, model, reasoningEffort }
  const agents = new Map()
  let current
  const open = (id, { agent }) => agents.set(id, current = agent)
  for (const action of actions) {
    const agent = action.as === undefined ? current : agents.get(action.as)
    const events = () => agent.session.snapshotEvents()
    switch (action.do) {
      case 'create':
        open(action.id, await ctx.agents.create({ sessionId: action.id, meta: { cwd: process.cwd() }, agentOptions }))
        break
      case 'resume':
        open(action.id, await ctx.agents.resume({ resumeSessionId: action.id, agentOptions }))
        await current.whenIdle()
        break
      case 'forkfrom': {
        const all = agents.get(action.of).session.snapshotEvents()
        const boundary = all.filter(({ type }) => type === action.boundaryType)[action.nth].seq
        const meta = { cwd: process.cwd(), parentSession: action.of, isSeeded: true }
        open(action.id, await ctx.agents.create({
          sessionId: action.id, seed: all.slice(0, boundary + 1), inheritedEventCount: boundary + 1, meta, agentOptions,
        }))
        break
      }
      case 'prompt':
        agent.followup({
          id: randomUUID(), role: 'user', content: [{ type: 'text', text: action.text }], source: { kind: 'user' },
        })
        break
      case 'idle':
        await agent.whenIdle()
        while (events().some(({ type }) => type.startsWith('subagent/')) && !await isQuiet()) await agent.whenIdle()
        break
      // The recorded run counted pieces of an answer; here the server stalls behind the last one that is recorded.
      case 'frames':
        await underWay()
        break
      case 'event':
        while (events().filter(({ type }) => type === action.type).length < action.count) await sleep(10)
        break
      case 'sleep':
        await sleep(action.ms)
        break
      case 'cancel':
        agent.cancel({ kind: 'user' })
        break
      case 'command':
        await ctx.commands.execute(agent, action.line, [], new AbortController().signal)
        break
      default:
        throw new Error(`no such step: ${action.do}`)
    }
  }
  for (const agent of agents.values()) await ctx.sessions.flush(agent.session)
}

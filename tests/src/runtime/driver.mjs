// A plugin for the real runtime: opens the session that DSHLOG_DRIVER names, gives it one prompt, waits until nothing is left
// to do, and prints the last answer. Mounted with `--patch` into the headless profile, in place of its runner.
import { randomUUID } from 'node:crypto'

export const name = 'dshlog-driver'
export const inject = ['agents', 'agentDefaultModel', 'sessions']

export function apply(ctx) {
  drive(ctx, JSON.parse(process.env.DSHLOG_DRIVER)).then(text => {
    process.stdout.write(text + '\n', () => process.exit(0))
  }, error => {
    process.stderr.write(`${error?.stack ?? error}\n`, () => process.exit(1))
  })
}

async function drive(ctx, { id, prompt }) {
  await ctx.get('loader')?.await()
  const { provider, model } = ctx.agentDefaultModel.currentSelection()
  const { agent } = await ctx.agents.resume({ resumeSessionId: id, agentOptions: { provider, model } })
  await agent.whenIdle()
  const content = [{ type: 'text', text: prompt }]
  agent.followup({ id: randomUUID(), role: 'user', content, source: { kind: 'user' } })
  await agent.whenIdle()
  await ctx.sessions.flush(agent.session)
  const spoken = agent.session.snapshotEvents().findLast(({ type }) => type === 'assistant/message')
  return spoken.data.message.content.filter(({ type }) => type === 'text').map(({ text }) => text).join('')
}

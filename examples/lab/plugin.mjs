// The two tools of the lab as a plugin for the real dsh, mounted with `--patch`. DSHLOG_LAB is JSON: `notes` (a list of
// `{id, text}`) or `file` (a file with such a list), `deny` (an id that may not be read), `mostSteps` (steps that a turn may have).
import { readFileSync } from 'node:fs'

export const name = 'dshlog-lab'
export const inject = ['tools']

const PREVIEW = 24
const ID = /^[a-z0-9-]{1,64}$/

const text = value => [{ type: 'text', text: value }]
const argument = name => ({
  type: 'object', properties: { [name]: { type: 'string' } }, required: [name], additionalProperties: false,
})
const only = (args, name) => {
  if (typeof args[name] !== 'string' || Object.keys(args).length !== 1) throw new Error(`"${name}" must be the only argument, and a string`)
  return args[name]
}

export function apply(ctx) {
  const { file, notes = file ? JSON.parse(readFileSync(file, 'utf8')) : [], deny, mostSteps = Infinity } =
    JSON.parse(process.env.DSHLOG_LAB ?? '{}')
  ctx.tools.register({
    name: 'search_notes',
    description: 'Find the notes whose text contains the query.',
    parameters: argument('query'),
    output: { schema: { type: 'object' }, render: (_args, value) => text(JSON.stringify(value)) },
    async execute(args) {
      const query = only(args, 'query').toLowerCase()
      const found = notes.filter(note => note.text.toLowerCase().includes(query))
      return { matches: found.map(({ id, text }) => ({ id, preview: text.slice(0, PREVIEW) })) }
    },
  })
  ctx.tools.register({
    name: 'read_note',
    description: 'Read one note.',
    parameters: argument('id'),
    output: { schema: { type: 'object' }, render: (_args, { id, text: whole }) => text(`[${id}] ${whole}`) },
    async execute(args) {
      const id = only(args, 'id')
      if (!ID.test(id)) throw new Error('"id" must be 1 to 64 of a-z, 0-9 and "-"')
      const note = notes.find(note => note.id === id)
      if (note === undefined) throw new Error(`there is no note "${id}"`)
      return { id, text: note.text }
    },
  })
  if (deny !== undefined) {
    ctx.tools.guard(exec => exec.name === 'read_note' && exec.arguments?.id === deny ? `the policy denied reading "${deny}"` : undefined)
  }
  ctx.on('agent/pre-step', ({ step }, next) => step > mostSteps ? Promise.resolve({ kind: 'reject' }) : next(), { prepend: true })
}

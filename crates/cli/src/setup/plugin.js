// Written by `tenure setup` and taken out by `tenure setup --remove`; changes made here are lost.
// One file for both plugin interfaces of OpenCode: version 1 calls `server`, version 2 calls `setup`.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const WATCHED = ["edit", "write", "patch", "apply_patch", "multiedit", "bash", "shell"]

// A sub-session works for another: what it does is that one's.
const parents = new Map()

function learn(info) {
  if (info?.id && info.parentID) parents.set(info.id, info.parentID)
}

function root(session) {
  const seen = new Set()
  while (parents.has(session) && !seen.has(session)) {
    seen.add(session)
    session = parents.get(session)
  }
  return session
}

// Runs one hook. Whatever goes wrong, the answer is empty and the session goes on.
function hook(event, input, directory, limit = 5000) {
  return new Promise((resolve) => {
    let text = ""
    const done = () => {
      try {
        resolve(text.trim() ? JSON.parse(text) : {})
      } catch {
        resolve({})
      }
    }
    try {
      const child = spawn(PROGRAM, ["hook", "opencode", event], {
        cwd: directory,
        stdio: ["pipe", "pipe", "ignore"],
        timeout: limit,
      })
      child.on("error", () => resolve({}))
      child.on("close", done)
      child.stdout.on("data", (data) => (text += data))
      child.stdin.on("error", () => {})
      const parent = root(input.session_id)
      child.stdin.end(JSON.stringify({ hook_event_name: event, cwd: directory, parent_session_id: parent, ...input }))
    } catch {
      resolve({})
    }
  })
}

async function before(directory, session, tool, input) {
  if (!WATCHED.includes(tool)) return
  const answer = await hook("tool.execute.before", { session_id: session, tool_name: tool, tool_input: input }, directory)
  if (answer.deny) throw new Error(answer.deny)
}

async function after(directory, session, tool, input, failed) {
  if (!WATCHED.includes(tool)) return
  await hook("tool.execute.after", { session_id: session, tool_name: tool, tool_input: input, failed }, directory)
}

export default {
  id: "tenure",

  async server({ directory }) {
    return {
      event: async ({ event }) => {
        learn(event.properties?.info)
        const session = event.properties?.info?.id ?? event.properties?.sessionID
        if (event.type === "session.created") await hook("session.created", { session_id: session }, directory)
        if (event.type === "session.deleted") await hook("session.deleted", { session_id: session }, directory, 1000)
      },
      "chat.message": async (input, output) => {
        const answer = await hook("chat.message", { session_id: input.sessionID }, directory)
        const part = output.parts.find((part) => part.type === "text")
        if (answer.context && part) part.text += "\n\n" + answer.context
      },
      "tool.execute.before": (input, output) => before(directory, input.sessionID, input.tool, output.args),
      "tool.execute.after": (input, output) =>
        after(directory, input.sessionID, input.tool, input.args, output.metadata?.exit > 0),
      "experimental.session.compacting": async (input, output) => {
        const answer = await hook("session.compacting", { session_id: input.sessionID }, directory)
        if (answer.context) output.context.push(answer.context)
      },
    }
  },

  async setup(ctx) {
    const directory = ctx.directory ?? process.cwd()
    const seen = new Set()
    await ctx.session.hook("context", async (event) => {
      learn({ id: event.sessionID, parentID: event.parentID ?? event.session?.parentID })
      if (!seen.has(event.sessionID)) {
        seen.add(event.sessionID)
        await hook("session.created", { session_id: event.sessionID }, directory)
      }
      const answer = await hook("chat.message", { session_id: event.sessionID }, directory)
      if (answer.context) event.system.push({ type: "text", text: answer.context })
    })
    await ctx.session.hook("compaction", async (event) => {
      const answer = await hook("session.compacting", { session_id: event.sessionID }, directory)
      if (answer.context) event.system.push({ type: "text", text: answer.context })
    })
    await ctx.tool.hook("execute.before", (event) => before(directory, event.sessionID, event.tool, event.input))
    await ctx.tool.hook("execute.after", (event) =>
      after(directory, event.sessionID, event.tool, event.input, event.status === "error"),
    )
  },
}

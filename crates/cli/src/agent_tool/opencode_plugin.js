// Written by `tenure setup` and taken out by `tenure setup --remove`; changes made here are lost.
// One file for both plugin interfaces of OpenCode: version 1 calls `server`, version 2 calls `setup`.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const SHELLS = ["bash", "shell"]
// Tenure's own tools, as OpenCode names those of the server `tenure`.
const OWN = ["resume", "note", "done", "block", "add", "list", "reserve", "release", "mail", "memory"].map((tool) => `tenure_${tool}`)
// The argument in which a call of one of them says whose it is: one process has many sessions, and they share a server.
const SESSION = "tenure/session"
// The variable in which a shell says the same.
const VARIABLE = "OPENCODE_SESSION_ID"
const WATCHED = ["edit", "write", "patch", "apply_patch", "multiedit", ...SHELLS]
// More of what a tool said than this is never kept.
const MOST = 16 * 1024

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
      child.stdin.end(JSON.stringify({ hook_event_name: event, cwd: directory, ...input }))
    } catch {
      resolve({})
    }
  })
}

// Takes out of a call whose it was: that is not for the model, which reads its own calls again.
function forget(tool, input) {
  if (OWN.includes(tool) && input) delete input[SESSION]
}

// What is known of the sessions of this process. `lookup` asks OpenCode for a session that began before this plugin did.
function sessions(directory, lookup) {
  const parents = new Map()
  const begun = new Map()

  async function parent(session) {
    if (!parents.has(session)) {
      const found = await Promise.resolve()
        .then(() => lookup(session))
        .catch(() => undefined)
      if (!parents.has(session)) parents.set(session, found?.parentID || undefined)
    }
    return parents.get(session)
  }

  // A session below another one works for the topmost: that is the session, and it is an agent of it.
  async function who(session) {
    let top = session
    for (let depth = 0; depth < 16; depth++) {
      const above = await parent(top)
      if (!above) break
      top = above
    }
    return top === session ? { session_id: session } : { session_id: top, agent_id: session }
  }

  const self = {
    knows: (session) => begun.has(session),

    learn(info) {
      if (info?.id) parents.set(info.id, info.parentID || undefined)
    },

    // What is answered at the beginning waits until something can be put before the model.
    begin(session, source, event = "session.created") {
      const answer = who(session).then((who) => hook(event, { ...who, source }, directory))
      begun.set(session, answer)
      return answer
    },

    // The texts for the model with a message: what waited, once, and what there is to say now.
    async message(session) {
      if (!begun.has(session)) self.begin(session, "resume")
      const first = await begun.get(session)
      begun.set(session, Promise.resolve({}))
      const now = await hook("chat.message", await who(session), directory)
      return { first: first.context, now: now.context }
    },

    // The session that holds what is held.
    top: async (session) => (await who(session)).session_id,

    async before(session, tool, input) {
      if (OWN.includes(tool) && input) input[SESSION] = { tool: "opencode", id: await self.top(session) }
      if (!WATCHED.includes(tool)) return
      const call = { ...(await who(session)), tool_name: tool, tool_input: input }
      const answer = await hook("tool.execute.before", call, directory)
      if (answer.deny) throw new Error(answer.deny)
    },

    async after(session, tool, input, result, error) {
      forget(tool, input)
      if (!WATCHED.includes(tool)) return
      const call = { ...(await who(session)), tool_name: tool, tool_input: input }
      if (error) call.error = String(error.message ?? error).slice(0, MOST)
      else if (SHELLS.includes(tool)) {
        const said = typeof result?.output === "string" ? result.output.slice(-MOST) : undefined
        call.tool_response = { exit_code: result?.metadata?.exit, output: said }
      }
      await hook("tool.execute.after", call, directory)
    },

    async compacting(session) {
      return (await hook("session.compacting", await who(session), directory)).context
    },

    async end(session) {
      const input = await who(session)
      begun.delete(session)
      parents.delete(session)
      await hook("session.deleted", { ...input, reason: "deleted" }, directory, 1000)
    },
  }
  return self
}

export default {
  id: "tenure",

  async server({ directory, client }) {
    const lookup = async (session) => (await client?.session?.get({ path: { id: session } }))?.data
    const known = sessions(directory, lookup)
    return {
      event: async ({ event }) => {
        const info = event.properties?.info
        const session = info?.id ?? event.properties?.sessionID
        if (!session) return
        if (event.type === "session.created") {
          known.learn(info)
          await known.begin(session, "startup")
        }
        if (event.type === "session.compacted") await known.begin(session, "compact", "session.compacted")
        if (event.type === "session.deleted") {
          known.learn(info)
          await known.end(session)
        }
      },
      "chat.message": async (input, output) => {
        const { first, now } = await known.message(input.sessionID)
        const part = output.parts.find((part) => part.type === "text")
        if (part) part.text = [part.text, first, now].filter(Boolean).join("\n\n")
      },
      "shell.env": async (input, output) => {
        if (input.sessionID) output.env[VARIABLE] = await known.top(input.sessionID)
      },
      "tool.execute.before": (input, output) => known.before(input.sessionID, input.tool, output.args),
      "tool.execute.after": (input, output) => known.after(input.sessionID, input.tool, input.args, output),
      "experimental.chat.messages.transform": async (_, output) => {
        for (const part of output.messages.flatMap((message) => message.parts ?? [])) forget(part.tool, part.state?.input)
      },
      "experimental.session.compacting": async (input, output) => {
        const text = await known.compacting(input.sessionID)
        if (text) output.context.push(text)
      },
    }
  },

  async setup(ctx) {
    const directory = ctx.directory ?? process.cwd()
    const lookup = async (session) => {
      const found = await ctx.session.get?.({ sessionID: session })
      return found?.data ?? found
    }
    const known = sessions(directory, lookup)
    // What the model is told by this interface counts for one request, so it is told again with each.
    const told = new Map()
    await ctx.session.hook("context", async (event) => {
      const parentID = event.parentID ?? event.session?.parentID
      if (parentID) known.learn({ id: event.sessionID, parentID })
      if (!known.knows(event.sessionID)) known.begin(event.sessionID, "startup")
      const { first, now } = await known.message(event.sessionID)
      if (first) told.set(event.sessionID, first)
      for (const text of [told.get(event.sessionID), now]) if (text) event.system.push({ type: "text", text })
    })
    await ctx.session.hook("compaction", async (event) => {
      const text = await known.compacting(event.sessionID)
      if (text) event.system.push({ type: "text", text })
      told.delete(event.sessionID)
      known.begin(event.sessionID, "compact", "session.compacted")
    })
    // A shell has its own session in the variable; below another one it works for the topmost.
    await ctx.shell?.hook?.("create.before", async (event) => {
      if (event.env?.[VARIABLE]) event.env[VARIABLE] = await known.top(event.env[VARIABLE])
    })
    await ctx.tool.hook("execute.before", (event) => known.before(event.sessionID, event.tool, event.input))
    await ctx.tool.hook("execute.after", (event) => {
      const failed = event.status === "error"
      const error = failed ? (event.error ?? "the tool failed") : undefined
      return known.after(event.sessionID, event.tool, event.input, event.result ?? event.output, error)
    })
  },
}

// Draws the list that the agent of a chat keeps by todo-mcp in opencode's sidebar
// (docs/hooks.md). It never makes opencode wait or fail: what cannot be read is not drawn.
import { spawn } from "node:child_process"
import { createElement } from "@opentui/solid"

const command = "todo-mcp show --json"
const marks = { completed: "✓", in_progress: "▸", failed: "✗", blocked: "!", cancelled: "–" }
const most = { items: 12, text: 100, bytes: 1 << 20, time: 3000 } // of time milliseconds

// Returns what is drawn of the list of a chat; nothing if there is none.
const read = (cwd, chat) =>
  new Promise((resolve) => {
    if (!/^\w+$/.test(chat)) return resolve("")
    const child = spawn(`${command} --chat ${chat}`, { cwd, shell: true, stdio: ["ignore", "pipe", "ignore"], windowsHide: true })
    const end = () => {
      child.stdout.destroy() // what the shell started ends by this
      child.kill()
    }
    const late = setTimeout(end, most.time)
    let out = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => {
      if (out.length < most.bytes) out += text
      else end()
    })
    child.on("error", () => resolve(""))
    child.on("close", (status) => {
      clearTimeout(late)
      try {
        resolve(status === 0 ? draw(JSON.parse(out)) : "")
      } catch {
        resolve("")
      }
    })
  })

// One line, which no text can end or turn, and which is not longer than it may be.
const line = (text) => {
  const all = [...String(text ?? "").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ")]
  return all.length > most.text ? all.slice(0, most.text - 1).join("") + "…" : all.join("")
}

const draw = (list) => {
  if (!list?.items?.length || list.archived || list.mirrored || list.state === "left open") return ""
  const done = (item) => item.status === "completed" || item.status === "cancelled"
  const count = list.items.filter((item) => item.status !== "cancelled")
  const from = Math.max(0, Math.min(list.items.findIndex((item) => !done(item)) - 1, list.items.length - most.items))
  const shown = list.items.slice(from, from + most.items)
  const lines = [`${line(list.title)}  ${count.filter(done).length}/${count.length}`]
  if (list.asks) lines.push("asks: " + line(list.asks))
  if (from > 0) lines.push(`  ${from} above`)
  for (const item of shown) {
    const text = item.status === "in_progress" ? item.active || item.text : item.text
    lines.push(`${marks[item.status] ?? "○"} ${line(text)}${item.reason ? ": " + line(item.reason) : ""}`)
  }
  const below = list.items.length - from - shown.length
  if (below > 0) lines.push(`  ${below} more`)
  return lines.join("\n")
}

const tui = async (api) => {
  const drawn = new Map() // what is on the screen, with its session
  const texts = new Map() // by chat
  let reads = false
  const refresh = async () => {
    if (reads || drawn.size === 0) return
    reads = true
    for (const [node, session] of drawn) {
      const chat = session?.session_id // which it may change
      if (!node.isDestroyed) texts.set(chat, await read(api.state.path.directory, chat))
      if (node.isDestroyed) drawn.delete(node)
      else node.content = texts.get(chat)
    }
    reads = false
  }
  const clock = setInterval(refresh, 3000)
  clock.unref?.()
  api.lifecycle.onDispose(() => clearInterval(clock))
  api.event.on("message.part.updated", ({ properties }) => {
    if (properties?.part?.state?.status === "completed") refresh()
  })
  api.slots.register({
    order: 450, // behind its own list
    slots: {
      sidebar_content(_context, session) {
        const node = createElement("text")
        node.content = texts.get(session?.session_id) ?? ""
        drawn.set(node, session)
        refresh()
        return node
      },
    },
  })
}

export default { id: "todo-mcp", tui }

// Written by `loopguard-console install opencode`; `loopguard-console uninstall opencode` removes it.
import { spawn } from "node:child_process"

const HOOK = /*HOOK*/ []

// One process of our hook for one event. No answer means that the call runs as it is; where the hook
// itself fails, a call that is about to run is refused.
const FAILED = {
  deny: "[loopguard] This call was not run: the loop guard could not be started. Tell the user.",
  notice: `loopguard: the hook cannot be started: ${HOOK[0]}`,
}
const ask = (event, data) =>
  new Promise((resolve) => {
    let out = ""
    const failed = event === "before" ? FAILED : {}
    const hook = spawn(HOOK[0], [...HOOK.slice(1), "--event", event], { stdio: ["pipe", "pipe", "ignore"] })
    hook.on("error", () => resolve(failed))
    hook.stdout.on("data", (data) => (out += data))
    hook.on("close", (code) => {
      try {
        resolve(code !== 0 ? failed : out.trim() ? JSON.parse(out) : {})
      } catch {
        resolve(failed)
      }
    })
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(data))
  })

export const Loopguard = async ({ client, directory }) => {
  const parents = new Map()
  const told = new Map()
  const parent = async (session) => {
    if (!parents.has(session)) {
      const known = await client.session.get({ path: { id: session } }).catch(() => undefined)
      parents.set(session, known?.data?.parentID ?? "")
    }
    return parents.get(session)
  }
  const about = async (session) => ({ session, parent: await parent(session), directory })
  return {
    "chat.message": async (input, output) => {
      const text = (output.parts ?? []).map((part) => part.text ?? "").join("\n")
      await ask("turn", { ...(await about(input.sessionID)), text })
    },
    "tool.execute.before": async (input, output) => {
      const call = { tool: input.tool, call: input.callID, args: output.args }
      const answer = await ask("before", { ...(await about(input.sessionID)), ...call })
      if (answer.notice) {
        const body = { message: answer.notice, variant: "warning" }
        await client.tui.showToast({ body }).catch(() => {})
      }
      if (answer.deny !== undefined) {
        if (answer.halt) await client.session.abort({ path: { id: input.sessionID } }).catch(() => {})
        throw new Error(answer.deny)
      }
      if (answer.args) {
        // opencode runs the call with the object that it showed us
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, answer.args)
      }
      told.set(input.callID, { args: output.args, advice: answer.advice })
    },
    "tool.execute.after": async (input, output) => {
      const before = told.get(input.callID) ?? {}
      told.delete(input.callID)
      const call = { tool: input.tool, call: input.callID, args: before.args }
      const result = { output: output.output, exit: output.metadata?.exit }
      const answer = await ask("after", { ...(await about(input.sessionID)), ...call, ...result })
      const advice = answer.advice ?? before.advice
      if (advice) output.output = `${output.output}\n\n${advice}`
    },
    event: async ({ event }) => {
      const part = event.properties?.part
      if (event.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {
        if (!told.delete(part.callID)) return
        const call = { tool: part.tool, call: part.callID, args: part.state.input, output: part.state.error }
        await ask("failed", { ...(await about(part.sessionID)), ...call })
      } else if (event.type === "session.deleted") {
        await ask("end", await about(event.properties.info.id))
      }
    },
  }
}

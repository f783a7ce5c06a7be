/** `palace up` starts everything and proves that it works. */
import { clearStop, ensureBroker } from "../../wire/client/start.ts";
import type { Config } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import type { Paths } from "../../config/paths.ts";
import { wrongUsage } from "../../base/errors.ts";
import { executable, PACKAGE_ROOT } from "../executable.ts";
import { type Joined, joinStack } from "../docker/one-memory.ts";
import { provePalace } from "../../wire/proof/proof.ts";
import { askSearch, describeSearch } from "../proof/search-here.ts";
import { alignRows, type Output } from "../terminal/output.ts";
import { mcpEntry } from "../terminal/spelling.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace up [--docker]

Starts the broker on this machine and proves that it works: one shim writes a memory, another finds it, and it is erased.
Running it again is quick and harmless.

  --docker   start the compose stack of this package (chroma, broker, devbox) instead; if this machine has no memories of its
             own, its agents share the stack's (palace bridge remove ends that)`,
  options: options("docker native"),
  place: "anew",
  run: async ({ values, config, env, out }) => {
    const isDocker = values.docker === true;
    if (isDocker && values.native === true)
      throw wrongUsage("--native and --docker exclude each other", "give one of them");
    const own = withPalace(executable("mp-shim"), namedHome(config.paths));
    const stack = isDocker ? await startStack(config, env, out) : undefined;
    if (!isDocker) {
      clearStop(config);
      await ensureBroker(config);
    }
    const shim = stack?.shim ?? own;
    const joined = stack?.joined;
    const proof = await provePalace({ writer: shim, readers: [joined?.state === "joined" ? own : shim], env });
    const status = withPalace([...executable("palace"), "status", "--json"], namedHome(config.paths));
    const search = await askSearch(stack?.status ?? status, env);
    if (out.isJson)
      return out.document({
        kind: isDocker ? "docker" : "native",
        ...proof,
        ...(search && { search }),
        ...(joined && { host: joined }),
      });
    const next = [
      ["palace status", "what it holds"],
      ["palace mine docs DIR", "file a project's documents"],
      ["palace search WORDS", "find them again"],
      ...(joined?.state === "apart" ? [] : [["palace install all", "wire the agents of this machine"]]),
      ["every agent's MCP entry:", mcpEntry(namedHome(config.paths))],
      ...(isDocker ? [["in the devbox:", "mempalace-mcp"]] : []),
    ];
    out.text(`The palace is up${isDocker ? " in Docker" : " on this machine"}.
One memory was written through one shim, found through another, and erased (${proof.ms} ms).${search === undefined ? "" : `\n${out.spelled(describeSearch(search))}`}
Next:
${alignRows(next.map(([command = "", does = ""]) => [`  ${out.spelled(command)}`, does])).join("\n")}
Stop: ${out.spelled(isDocker ? "palace devbox down" : "palace stop")}`);
    if (joined?.state === "apart") out.notice(`${joined.why}; ${joined.hint}`);
    return 0;
  },
});

/** Returns the folder for the shims' --palace, if the user gave one. */
function namedHome({ home, palaceDir }: Paths): string | undefined {
  return home === palaceDir ? home : undefined;
}

async function startStack(
  config: Config,
  env: Env,
  out: Output,
): Promise<{ shim: string[]; status: string[]; joined: Joined | undefined }> {
  const { composeCommand } = await import("../../devbox/compose.ts");
  const { stackFolder } = await import("../../devbox/folder.ts");
  const { brokerContainer, upStack } = await import("../../devbox/up.ts");
  const root = stackFolder(PACKAGE_ROOT, config.paths.stateDir, true);
  const opened = await upStack({ ...config.paths, root, env, log: (line) => out.notice(line), cwd: process.cwd() });
  const joined = await joinStack(config, await brokerContainer(opened), env, opened.before);
  const inside = [...composeCommand({ root, env }), "exec", "-T", "devbox"];
  return { shim: [...inside, "mp-shim"], status: [...inside, "palace", "status", "--json"], joined };
}

function withPalace(command: string[], home: string | undefined): string[] {
  return home === undefined ? command : [...command, "--palace", home];
}

/** Tests settings files that are mount points: the system refuses to rename another file over them. Mounting needs root. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENTS, configFile } from "../../../src/agents/install/agent-files.ts";
import { install, uninstall, wiringOf } from "../../../src/agents/install/install.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { partsIn } from "../../unit/agents/install/parts.ts";

const why =
  process.getuid?.() === 0 && process.platform === "linux" ? undefined : "mounting a file needs root on Linux";
if (why !== undefined) console.log(`left out: files that are mounted alone (${why})`);

/** Mounts another file with `content` at `path`. Returns the other file's path as `source`. */
function mounted(path: string, content: string): Disposable & { source: string } {
  const source = `${path}.source`;
  mkdirSync(dirname(path), { recursive: true });
  for (const file of [path, source]) writeFileSync(file, content);
  execFileSync("mount", ["--bind", source, path]);
  return { source, [Symbol.dispose]: () => void execFileSync("umount", ["-l", path]) };
}

const others = (path: string): string[] => readdirSync(dirname(path)).filter((name) => /tmp|former/.test(name));

describe.skipIf(why !== undefined)("a settings file that is mounted alone", () => {
  it.each(AGENTS)("install and uninstall overwrite the mounted settings file of %s", async (agent) => {
    await using palace = createTestPalace();
    const parts = partsIn(palace.home);
    const path = configFile(agent, parts.places);
    using mount = mounted(path, "{}\n");
    install(agent, parts, false);
    expect(wiringOf(agent, parts)).toBe("wired");
    expect(readFileSync(mount.source, "utf8")).not.toBe("{}\n");
    uninstall(agent, parts, false);
    expect(readFileSync(mount.source, "utf8")).toBe("{}\n");
    expect(others(path)).toEqual([]);
  });

  it("palace config overwrites a mounted settings file, and a kill leaves the former content beside the file", async () => {
    await using palace = createTestPalace();
    const path = join(palace.config.paths.home, "settings.json");
    const before = '{ "wake-up": false }\n';
    using mount = mounted(path, before);
    const set = (fault?: string) =>
      palace.run("palace", ["config", "set", "outcomes", "on"], {
        env: fault === undefined ? {} : { MEMPALACE_FAULT: fault },
      });
    expect(await set()).toMatchObject({ code: 0 });
    const after = readFileSync(mount.source, "utf8");
    expect(JSON.parse(after)).toEqual({ "wake-up": false, outcomes: "on" });
    expect(others(path)).toEqual([]);
    writeFileSync(mount.source, before);
    for (const step of ["file.copied", "file.overwritten"]) {
      expect((await set(step)).code).toBe(null);
      const [copy = "", ...more] = others(path);
      expect([copy, more]).toEqual([expect.stringMatching(/^settings\.json\.\d+\.palace-former$/), []]);
      expect(readFileSync(join(dirname(path), copy), "utf8")).toBe(before);
      execFileSync("cp", [join(dirname(path), copy), path]);
      execFileSync("rm", [join(dirname(path), copy)]);
    }
    expect(await set()).toMatchObject({ code: 0 });
    expect(readFileSync(mount.source, "utf8")).toBe(after);
  });
});

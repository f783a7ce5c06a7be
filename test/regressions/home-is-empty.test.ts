/** With an empty HOME, every command reported an error in XDG_STATE_HOME, which was not set. */
import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../helpers/palace.ts";

test("an empty HOME variable falls back to the home folder in the system's user database", () => {
  const program = `
    const { loadConfig } = await import("${join(ROOT, "src/config/config.ts")}");
    const { paths, sessions } = loadConfig({ HOME: "" });
    console.log(JSON.stringify([paths.stateDir, sessions.claudeCodeDir]));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    env: { PATH: process.env["PATH"], HOME: "" },
    encoding: "utf8",
  });
  const { homedir: user } = userInfo();
  expect(JSON.parse(printed)).toEqual([join(user, ".local/state/palace"), join(user, ".claude/projects")]);
});

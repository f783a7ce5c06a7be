/** An installation that npm has left the embedding runtime out of: doctor and up say so, and what to type. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

/** Module hook that makes `onnxruntime-node` look as if it were not installed. */
const HOOK = `import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith("onnxruntime-node")) return next(specifier, context);
    throw Object.assign(new Error("Cannot find package 'onnxruntime-node'"), { code: "ERR_MODULE_NOT_FOUND" });
  },
});
`;

test("doctor and up say that the embedding runtime was left out, and what to type", async () => {
  await using palace = createTestPalace();
  const hook = join(palace.home, "hook.mjs");
  writeFileSync(hook, HOOK);
  const env = { NODE_OPTIONS: `--import=${hook}` };
  const { stdout } = await palace.run("palace", ["doctor", "--json"], { env });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; detail: string; hint: string }[] };
  expect(checks.find(({ name }) => name === "runtime")).toMatchObject({
    state: "warn",
    detail: expect.stringContaining("search goes without the model") as string,
    hint: expect.stringContaining("ONNXRUNTIME_NODE_INSTALL=skip") as string,
  });
  const up = await palace.run("palace", ["up", "--native"], { env });
  expect(up.code, up.stderr).toBe(0);
  expect(up.stdout + up.stderr).toContain("ONNXRUNTIME_NODE_INSTALL=skip");
  const whole = await palace.run("palace", ["doctor", "--json"]);
  const all = (JSON.parse(whole.stdout) as { checks: { name: string; state: string }[] }).checks;
  expect(all.find(({ name }) => name === "runtime")).toMatchObject({ state: "ok" });
});

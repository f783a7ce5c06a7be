import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { StatusReport } from "../../../src/protocol/spec.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

/** Module hook that makes `onnxruntime-node` look as if it were not installed. */
const HOOK = `import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith("onnxruntime-node")) return next(specifier, context);
    throw Object.assign(new Error("Cannot find package 'onnxruntime-node'"), { code: "ERR_MODULE_NOT_FOUND" });
  },
});
`;

test("if a palace has vectors but the model's runtime is missing, doctor names the command that fetches the runtime", async () => {
  await using palace = createTestPalace();
  const hook = join(palace.home, "hook.mjs");
  writeFileSync(hook, HOOK);
  const model = { MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) };
  expect((await palace.run("palace", ["add", "the key is under the pot"], { env: model })).code).toBe(0);
  const search = async (): Promise<StatusReport["search"]> =>
    (JSON.parse((await palace.run("palace", ["status", "--json"])).stdout) as StatusReport).search;
  await expect.poll(async () => (await search()).embedded).toBe(1);
  const env = { NODE_OPTIONS: `--import=${hook}`, MEMPALACE_MODEL_DIR: "" };
  expect((await palace.run("palace", ["restart"], { env })).code).toBe(0);
  const { stdout } = await palace.run("palace", ["doctor", "--json"], { env });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; hint: string }[] };
  expect(checks.find(({ name }) => name === "model")).toMatchObject({
    state: "warn",
    hint: "./scripts/palace model get",
    detail: expect.stringMatching(
      /^search by words and meaning, without the model: the model's runtime is not/,
    ) as string,
  });
  const row = (await palace.run("palace", ["status"], { env })).stdout;
  expect(row).toContain("by words and meaning, without the model: the model's runtime is not");
  const found = await palace.run("palace", ["search", "key"], { env });
  expect(found.stderr).toContain("the model's runtime is not installed");
});

test("up, status, search and doctor report no fault without the models' runtime", async () => {
  await using palace = createTestPalace();
  const hook = join(palace.home, "hook.mjs");
  writeFileSync(hook, HOOK);
  const env = { NODE_OPTIONS: `--import=${hook}`, MEMPALACE_MODEL_DIR: "" };
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await palace.run("palace", args, { env });
    expect(code, stderr).toBe(0);
    return stdout + stderr;
  };
  expect(await run("up", "--native")).toContain("Search finds memories by words and by meaning.");
  await run("add", "the key to the shed is under the pot");
  const found = await run("search", "where do we keep the extra key");
  expect(found).toContain("under the pot");
  expect(found).not.toContain("without the model");
  expect(await run("search", "key", "--mode", "vector")).toContain("palace model get");
  expect(await run("status")).toMatch(/by words and meaning; \.\/scripts\/palace model get adds MiniLM$/m);
  const { checks } = JSON.parse(await run("doctor", "--json")) as { checks: { name: string; state: string }[] };
  for (const name of ["runtime", "model"])
    expect(checks.find((check) => check.name === name)).toMatchObject({
      state: "ok",
      detail: expect.stringContaining("palace model get") as string,
    });
  // Forbids the download, because a test must not need a network.
  const refused = await palace.run("palace", ["model", "get"], { env: { ...env, MEMPALACE_OFFLINE: "1" } });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("offline") as string });
});

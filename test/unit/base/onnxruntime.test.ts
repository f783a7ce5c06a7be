import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ARCHIVES, fetchRuntime, importRuntime } from "../../../src/base/onnxruntime.ts";
import { ROOT } from "../../../scripts/main.ts";

test("the versions and checksums of onnxruntime equal the ones in package-lock.json", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const locked = ["onnxruntime-node", "onnxruntime-common"].map((name) => {
    const { version, integrity } = lock.packages[`node_modules/${name}`] ?? { version: "", integrity: "" };
    return [`${name}@${version}`, integrity];
  });
  expect(ARCHIVES).toEqual(Object.fromEntries(locked));
});

test("a registry that does not answer causes a typed error and leaves no file", async () => {
  const cache = mkdtempSync(join(tmpdir(), "runtime-"));
  const env = { ...process.env, npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0", HOME: cache };
  const killed = join(cache, "models/.draft-killed");
  mkdirSync(killed, { recursive: true });
  utimesSync(killed, 0, 0);
  const fetched = fetchRuntime(join(cache, "models"), { env, signal: new AbortController().signal });
  await expect(fetched).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    hint: expect.stringContaining("model get"),
  });
  expect(readdirSync(join(cache, "models"))).toEqual([]);
  rmSync(cache, { recursive: true });
});

test("a library that does not load causes a typed error", () => {
  expect(() => importRuntime(join(ROOT, "missing.js"))).toThrow(
    expect.objectContaining({ code: "STORE_UNAVAILABLE", message: expect.stringContaining("does not load") as string }),
  );
});

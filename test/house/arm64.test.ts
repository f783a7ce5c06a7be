/** Checks that every binary in the images exists for linux/arm64 too, at the same version, so that a build compiles nothing. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AGENTS } from "../../scripts/agents.ts";
import { ROOT } from "../../scripts/main.ts";

type Locked = { version: string; cpu?: string[]; os?: string[]; dev?: boolean };

/** Value of `e_machine` for arm64, and its offset in an ELF file, bytes (source: ELF-64, elf.h). */
const AARCH64 = 183;
const MACHINE_AT = 18;

const json = (file: string): unknown => JSON.parse(readFileSync(join(ROOT, file), "utf8"));

test("each package of binaries for linux/x64 has a counterpart for arm64 of the same version", () => {
  const { packages } = json("package-lock.json") as { packages: Record<string, Locked> };
  const needed = Object.entries(packages).filter(
    ([, { cpu, os, dev }]) => dev !== true && cpu?.includes("x64") === true && os?.includes("linux") === true,
  );
  expect(needed.length).toBeGreaterThan(0);
  for (const [name, { version }] of needed)
    expect(packages[name.replace("x64", "arm64")], name).toMatchObject({ version, cpu: ["arm64"], os: ["linux"] });
});

test.each([
  ["better-sqlite3", "prebuilds/linux-arm64.node"],
  ["onnxruntime-node", "bin/napi-v*/linux/arm64/onnxruntime_binding.node"],
])("%s contains a binary for arm64", (name, pattern) => {
  const files = globSync(join(ROOT, "node_modules", name, pattern));
  expect(files).toHaveLength(1);
  for (const file of files) expect(readFileSync(file).readUInt16LE(MACHINE_AT)).toBe(AARCH64);
});

test("each agent has a pinned build for arm64, or one build for every machine", () => {
  const pinned = json("scripts/agents.json") as Record<string, { any?: object; x64?: object; arm64?: object }>;
  for (const agent of AGENTS) {
    const { any, x64, arm64 } = pinned[agent] ?? {};
    expect(any ?? (x64 && arm64), agent).toBeDefined();
  }
});

/** Tests the parts of `up` and `palace devbox recreate` that need no Docker. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { describeReplaced } from "../../../src/cli/devbox/restore.ts";
import { assertCertificates, atWhat, composeCommand } from "../../../src/devbox/compose.ts";
import { countsDiffer } from "../../../src/devbox/counts.ts";
import { addressOptions } from "../../../src/devbox/engine.ts";
import { treeDiffers } from "../../../src/devbox/home-tree.ts";
import { lockStack } from "../../../src/devbox/note.ts";
import { split } from "../../../src/devbox/recreate/images.ts";
import { newJob, readJob, writeJob } from "../../../src/devbox/recreate/job.ts";
import { lostFiles, programOf } from "../../../src/devbox/recreate/preflight.ts";
import { revisionIn } from "../../../src/devbox/status.ts";

const ROOT_FILE = import.meta.filename;
const counts = { schema: 9, seq: 5, mark: "k", drawers: 3, facts: 2, diary: 1, digest: "d" };

test("a memory counts as changed after lost drawers, texts or writes, but not after new writes", () => {
  expect(countsDiffer(counts, { ...counts, schema: 10 })).toBeUndefined();
  expect(countsDiffer(counts, { ...counts, seq: 6, drawers: 4, digest: "e" })).toBeUndefined();
  expect(countsDiffer(counts, { ...counts, drawers: 2 })).toBe("there are 2 drawers, but there were 3");
  expect(countsDiffer(counts, { ...counts, digest: "e" })).toContain("texts");
  expect(countsDiffer(counts, { ...counts, seq: 4 })).toContain("ends at write 4");
  expect(countsDiffer(counts, { ...counts, seq: 6, mark: "other" })).toContain("write 5");
});

test("a restore describes the memory that it would replace, unless the memory is empty", () => {
  expect(describeReplaced({ drawers: 0, facts: 0 })).toBeUndefined();
  expect(describeReplaced({ drawers: 1, facts: 0 })).toBe("1 drawer and 0 facts");
  expect(describeReplaced({ drawers: 0, facts: 2 })).toBe("0 drawers and 2 facts");
  expect(describeReplaced(null)).toContain("cannot be counted");
});

test("a home counts as changed after a user's file is changed or missing", () => {
  const before = { entries: { a: "file 644 1", b: "link a", c: "file 644 2" }, ours: [] };
  const after = { entries: { a: "file 600 1", d: "folder 755" }, ours: ["c"] };
  expect(treeDiffers(before, after)).toEqual(["a", "b"]);
});

test("recreate lists the files in a container that it would delete", () => {
  const changes = ["/etc", "/etc/hosts", "/usr/sbin/docker-init", "/home", "/home/developer", "/opt", "/opt/tool"];
  const given = [...changes.map((Path) => ({ Path, Kind: 0 })), { Path: "/gone", Kind: 2 }];
  expect(lostFiles(given, ["/home/developer"])).toEqual(["/opt/tool"]);
});

test("recreate recognises an agent or a miner by its program or by the script that Node runs", () => {
  const names = ["claude", "pi", "palace mine"];
  expect(programOf("/opt/agents/bin/claude --resume", names)).toBe("claude");
  expect(programOf("node /opt/agents/bin/pi", names)).toBe("pi");
  expect(programOf("node /usr/local/bin/palace mine /workspace", names)).toBe("palace mine");
  expect(programOf("node /usr/local/bin/palace status", names)).toBeUndefined();
  expect(programOf("vim notes pi", names)).toBeUndefined();
  expect(programOf("/usr/bin/pip install", names)).toBeUndefined();
});

test("progress shows the last build step or container in compose's output", () => {
  expect(atWhat("#7 [devbox 2/9] RUN apt-get update\n#7 0.2 fetching\n")).toBe("[devbox 2/9] RUN apt-get update");
  expect(atWhat("#7 [x 1/1] RUN y\n Container p-broker-1  Waiting\n")).toBe("Container p-broker-1  Waiting");
  expect(atWhat("")).toBe("working");
});

test("up uses the files that a plain docker compose reads in the folder", () => {
  const root = mkdtempSync(join(tmpdir(), "palace-compose-"));
  const put = (name: string, text = ""): void => writeFileSync(join(root, name), text);
  const files = (env: Record<string, string> = {}): string[] =>
    composeCommand({ root, env })
      .filter((word) => word.startsWith(`${root}/`))
      .map((file) => basename(file));
  try {
    put("docker-compose.yml");
    expect(files()).toEqual(["docker-compose.yml"]);
    put("docker-compose.override.yaml");
    expect(files()).toEqual(["docker-compose.yml", "docker-compose.override.yaml"]);
    put("docker-compose.override.yml");
    expect(files()).toEqual(["docker-compose.yml", "docker-compose.override.yml"]);
    put("compose.override.yml");
    expect(files()).toEqual(["docker-compose.yml", "compose.override.yml"]);
    put("compose.yaml");
    expect(files()).toEqual(["compose.yaml", "compose.override.yml"]);
    put(".env", "COMPOSE_FILE=docker-compose.yml:mine.yml\n");
    expect(files()).toEqual(["docker-compose.yml", "mine.yml"]);
    expect(files({ COMPOSE_FILE: "a.yml,b.yml", COMPOSE_PATH_SEPARATOR: "," })).toEqual(["a.yml", "b.yml"]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("up refuses a missing certificate file and names the variable", () => {
  const at = (env: Record<string, string>): (() => void) => {
    return () => assertCertificates({ certificates: "/nowhere/ca.pem" }, { root: "/nowhere", env });
  };
  expect(at({ NODE_EXTRA_CA_CERTS: "/nowhere/ca.pem" })).toThrow(
    expect.objectContaining({
      code: "CONFIG_BAD_VALUE",
      message: expect.stringMatching(/^NODE_EXTRA_CA_CERTS names \/nowhere\/ca\.pem, which is not a file/),
      hint: expect.stringContaining("unset NODE_EXTRA_CA_CERTS"),
    }),
  );
  expect(at({ EXTRA_CA_CERTS: "/nowhere/ca.pem", NODE_EXTRA_CA_CERTS: "/else" })).toThrow(/^EXTRA_CA_CERTS names/);
  expect(() => assertCertificates({ certificates: ROOT_FILE }, { root: "/nowhere", env: {} })).not.toThrow();
});

test("an image that plain docker compose built has no revision", () => {
  const label = "org.opencontainers.image.revision";
  expect([{ [label]: "abc" }, { [label]: "unknown" }, {}, null].map(revisionIn)).toEqual(["abc", null, null, null]);
});

test("the address in docker's context becomes connection options for a socket, TLS or ssh", () => {
  expect(addressOptions("unix:///run/docker.sock")).toEqual({ socketPath: "/run/docker.sock" });
  expect(addressOptions("tcp://10.0.0.1:2376")).toEqual({ host: "10.0.0.1", port: "2376", protocol: "https" });
  expect(addressOptions("ssh://me@box")).toEqual({ protocol: "ssh", host: "box", port: 22, username: "me" });
});

test("the port in an image's registry address does not count as the image's tag", () => {
  expect(split("localhost:5000/a/b")).toEqual({ repo: "localhost:5000/a/b", tag: "latest" });
  expect(split("a/b:1")).toEqual({ repo: "a/b", tag: "1" });
});

test("the state file of a recreate is read as it was written, and a damaged or locked state is refused", () => {
  const state = mkdtempSync(join(tmpdir(), "palace-job-"));
  try {
    expect(readJob(state)).toBeUndefined();
    const job = newJob([{ id: "1", service: "broker", imageId: "sha" }], true);
    writeJob(state, job);
    expect(readJob(state)).toEqual(job);
    writeFileSync(join(state, "recreate.json"), "{");
    expect(() => readJob(state)).toThrow("not a valid record of a recreate; nothing was changed");
    lockStack(state);
    expect(() => lockStack(state)).toThrow("another palace devbox command works on this stack");
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
});

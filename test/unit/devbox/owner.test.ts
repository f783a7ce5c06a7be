/** Tests which folder owns a stack, by the stack's containers and our record. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { assertOurs, otherOwner } from "../../../src/devbox/owner.ts";

const folder = mkdtempSync(join(tmpdir(), "palace-owner-"));
const [here, there] = [join(folder, "here"), join(folder, "there")];
for (const clone of [here, there]) {
  mkdirSync(clone);
  writeFileSync(join(clone, "docker-compose.yml"), "");
}
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const note = (...folders: string[]) => ({ folders, workspace: "", engine: "" });
const claims = { root: here, project: "p", containers: [] as string[], note: undefined, hasVolumes: true };

test("a stack without a recorded owner belongs to this folder if it has no containers, or if `docker compose` in this folder made them", () => {
  expect(otherOwner(claims)).toBeUndefined();
  expect(otherOwner({ ...claims, containers: [here] })).toBeUndefined();
});

test("a stack belongs to the folder in which `docker compose` made its containers, or to the folder in our record", () => {
  expect(otherOwner({ ...claims, containers: [there] })).toBe(there);
  expect(otherOwner({ ...claims, note: note(there) })).toBe(there);
  expect(() => assertOurs({ ...claims, note: note(there) })).toThrow(/belong to .*there; nothing was changed/);
});

test("a stack has no other owner if it has no volumes, is shared, or its folder was deleted", () => {
  expect(otherOwner({ ...claims, note: note(there), hasVolumes: false })).toBeUndefined();
  expect(
    otherOwner({ ...claims, note: note(join(folder, "gone")), containers: [join(folder, "gone")] }),
  ).toBeUndefined();
  expect(otherOwner({ ...claims, note: note(there, here), containers: [there] })).toBeUndefined();
});

/** The owner of a stack: decided by its containers and by our notes, but not by folders that no longer exist. */
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

test("a stack that plain compose made, and that was never noted, belongs to whoever asks", () => {
  expect(otherOwner(claims)).toBeUndefined();
  expect(otherOwner({ ...claims, containers: [here] })).toBeUndefined();
});

test("a stack belongs to another folder if its containers do, or if its volumes were noted for that folder", () => {
  expect(otherOwner({ ...claims, containers: [there] })).toBe(there);
  expect(otherOwner({ ...claims, note: note(there) })).toBe(there);
  expect(() => assertOurs({ ...claims, note: note(there) })).toThrow(/those of .*there; nothing was changed/);
});

test("another folder does not own a stack without volumes, from a deleted folder, or that is shared on purpose", () => {
  expect(otherOwner({ ...claims, note: note(there), hasVolumes: false })).toBeUndefined();
  expect(
    otherOwner({ ...claims, note: note(join(folder, "gone")), containers: [join(folder, "gone")] }),
  ).toBeUndefined();
  expect(otherOwner({ ...claims, note: note(there, here), containers: [there] })).toBeUndefined();
});

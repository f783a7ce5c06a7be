/** Whose stack it is: by its containers, by what we remember, and not by folders that are gone. */
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

test("a stack that was made by plain compose, before anybody took a note, is whoever's asks", () => {
  expect(otherOwner(claims)).toBeUndefined();
  expect(otherOwner({ ...claims, containers: [here] })).toBeUndefined();
});

test("another folder's containers make it another folder's, and so do its volumes where it was noted", () => {
  expect(otherOwner({ ...claims, containers: [there] })).toBe(there);
  expect(otherOwner({ ...claims, note: note(there) })).toBe(there);
  expect(() => assertOurs({ ...claims, note: note(there) })).toThrow(/those of .*there; nothing was changed/);
});

test("without volumes, from a folder that is gone, and where it is shared on purpose nobody else has it", () => {
  expect(otherOwner({ ...claims, note: note(there), hasVolumes: false })).toBeUndefined();
  expect(
    otherOwner({ ...claims, note: note(join(folder, "gone")), containers: [join(folder, "gone")] }),
  ).toBeUndefined();
  expect(otherOwner({ ...claims, note: note(there, here), containers: [there] })).toBeUndefined();
});

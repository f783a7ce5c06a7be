/** Checks that Dockerfile.base copies every file that the devbox's scripts import. The scripts run in the image without the other files. */
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

test("each file that the devbox's scripts import is copied into the image", () => {
  const copied = readFileSync(join(ROOT, "Dockerfile.base"), "utf8")
    .split("\n")
    .filter((line) => /^COPY --from=pack .* \/opt\/devbox\//.test(line))
    .flatMap((line) => line.match(/(?<=\/build\/)\S+\.ts/g) ?? [])
    .map((name) => join(ROOT, name));
  expect(copied.length).toBeGreaterThan(3);
  const imported = copied.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*? from "(\.[^"]+)"/gms)].map(
      ([, name = ""]) => resolve(dirname(file), name),
    ),
  );
  expect(imported.length).toBeGreaterThan(2);
  expect(imported.filter((file) => !copied.includes(file))).toEqual([]);
});

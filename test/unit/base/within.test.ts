import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

test("a wait with a negative time limit ends without a warning", () => {
  const program = `
    import { within } from "${new URL("../../../src/base/time-limit.ts", import.meta.url).href}";
    process.on("warning", (warning) => console.log(warning.name));
    console.log(await within(new Promise(() => {}), -100));
    setImmediate(() => {});`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })).toBe(
    "undefined\n",
  );
});

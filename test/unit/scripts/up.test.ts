/** Tests the error of `./scripts/up --native` for a broker that did not start. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nativeFailed } from "../../../scripts/up.ts";
import { writeSettings } from "../../../src/wire/bridge/settings.ts";
import { loadConfig } from "../../../src/config/config.ts";

test("after a failed start the hint has the command that shows the log or, if a bridge exists, the command that removes the bridge", () => {
  const home = mkdtempSync(join(tmpdir(), "palace-up-"));
  try {
    const config = loadConfig({ HOME: home });
    expect(nativeFailed(config).hint).toBe("./scripts/palace logs");
    const where = { target: "docker:box-broker-1", host: "box-broker-1", port: 0, user: "", hostKey: "" };
    writeSettings(config.paths, { schema: 1, ...where, kind: "docker" });
    const error = nativeFailed(config);
    expect(error.message).toContain("docker:box-broker-1");
    expect(error.hint).toContain("./scripts/palace bridge remove");
    expect(nativeFailed(loadConfig({ HOME: home, MEMPALACE_BROKER: "http://far.test:7780" })).hint).toBe(
      "./scripts/palace logs",
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

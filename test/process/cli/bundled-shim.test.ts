import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { createTestPalace, ROOT } from "../../helpers/palace.ts";

const SHIM = join(ROOT, "dist/bin/mp-shim.cjs");
const missing = existsSync(SHIM) ? undefined : "dist is missing: npm run build";
if (missing !== undefined) console.log(`left out: the bundled shim (${missing})`);

test.skipIf(missing)("the bundled shim starts a broker if none runs", async () => {
  await using palace = createTestPalace({ built: true });
  const shim = await openStdioMcp([process.execPath, SHIM], { env: palace.env, timeoutMs: 60_000 });
  const filed = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "by the bundle" });
  expect(filed).toHaveProperty("drawer_id");
  expect(readBrokerFile(palace.config.paths.brokerFile)).toBeDefined();
  await shim.close();
});

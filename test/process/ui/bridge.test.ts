import { spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { pair } from "../../helpers/bridge-pair.ts";
import { openBrowser } from "../../helpers/browser.ts";

/** Returns true if the server upgrades a connection without a token to a message stream. */
async function upgradesAt(url: URL): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  get(url, { headers: { connection: "upgrade", upgrade: "mcp" } }, () => resolve(false))
    .on("upgrade", () => resolve(true))
    .on("error", () => resolve(false));
  return promise;
}

test("the page is served over a bridge, with the bridge's role, until the command ends", async () => {
  await using all = await pair();
  expect((await all.setup()).code).toBe(0);
  await all.host.run("palace", ["add", "a note of the host"]);
  const command = [all.box.executable("palace"), "ui", "--no-open"];
  const child = spawn(process.execPath, command, { env: all.box.env, stdio: ["ignore", "pipe", "inherit"] });
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByText("a note of the host").waitFor();
    await page.getByText("live, as agent").waitFor();
    expect(await page.getByRole("link", { name: "History" }).count()).toBe(0);
    // The command uses a socket that needs no token. Therefore programs and websites that reach its port get only the page.
    for (const path of ["/health", "/metrics", "/mcp", "/api/health"])
      expect((await fetch(new URL(path, url))).status, path).toBe(404);
    expect(await upgradesAt(new URL("/mcp", url))).toBe(false);
  } finally {
    await browser.close();
    child.kill("SIGINT");
  }
  await once(child, "close");
  await expect(fetch(new URL("/ui/", url))).rejects.toThrow("fetch failed");
});

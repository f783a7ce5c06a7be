import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Paths } from "../../../src/config/paths.ts";
import { authorOf } from "../../../src/broker/dispatch/answers.ts";
import { ownFiles } from "../../../src/broker/life/own-files.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { Spool } from "../../../src/wire/client/spool.ts";

test("spooled writes that the page of `palace ui` sends again keep their authors, and the page cannot claim an agent's name", async () => {
  const spoolDir = mkdtempSync(join(tmpdir(), "spool-"));
  const spool = new Spool(spoolDir);
  for (const agent of ["pi", "codex"]) {
    const params = { name: "mempalace_add_drawer", arguments: {} };
    const line = JSON.stringify({ jsonrpc: "2.0", method: "tools/call", params });
    const name = spool.append({ atMs: Date.now(), agent, tool: "mempalace_add_drawer", key: agent, line });
    if (agent === "pi") spool.refuse(name, "no");
  }
  const authors: string[] = [];
  const page: Peer = {
    ...{ id: 1, agent: "ui:unknown", door: "ui", token: "ui", role: "admin", uid: -1, pid: 0, tools: "full" },
  };
  const files = ownFiles({
    paths: { spoolDir } as Paths,
    usedAtMs: () => null,
    dispatch: async (peer, message) => {
      authors.push(authorOf(peer, (message as { params: Record<string, unknown> }).params));
      return { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: '{"success":true}' }] } };
    },
  });
  const [refused] = spool.refused();
  expect(await files.sendAgain(page, refused?.name ?? "")).toEqual({ delivered: 2, refused: 0, waiting: 0 });
  expect(authors).toEqual(["pi", "codex"]);
  expect(authorOf(page, { _meta: { "palace/author": "pi" } })).toBe("ui:pi");
  rmSync(spoolDir, { recursive: true, force: true });
});

/** Forks in opencode: what they copy is filed once, and never with nobody. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { SessionReport } from "../../../src/feeders/session-miner/feed.ts";
import { createOpencodeDatabase, type OpencodeDatabase, user } from "../../helpers/opencode-database.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

async function feed(palace: TestPalace, ...more: string[]): Promise<SessionReport> {
  const { stdout, stderr } = await palace.run("mempalace-session", [...more, "--json"]);
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as SessionReport;
}

const times = (palace: TestPalace, word: string): number => filed(palace).split(word).length - 1;

/** Everything that is filed, without the headers, which name a session by its first words. */
function filed(palace: TestPalace): string {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const texts = ledger.prepare<[], string>("SELECT text FROM drawer").pluck().all();
  ledger.close();
  return texts.map((text) => text.replaceAll(/^> \[session\].*/gm, "")).join("\n");
}

const dayMs = Date.UTC(2026, 1, 3);

/** opencode's sessions; `talk` says words one after the other. */
function openTalks(palace: TestPalace): {
  database: OpencodeDatabase;
  talk: (session: string, atMs: number, ...words: string[]) => void;
} {
  const database = createOpencodeDatabase(join(palace.home, ".local/share/opencode/opencode.db"));
  return {
    database,
    talk: (session, atMs, ...words) =>
      words.forEach((text, at) => void database.addMessage(session, ...user(text), atMs + at)),
  };
}

test("a fork is filed without what an earlier session holds, and a copy whose first one is gone is filed whole", async () => {
  await using palace = createTestPalace();
  const { database, talk } = openTalks(palace);
  database.addSession({ id: "ses_first", createdMs: dayMs });
  talk("ses_first", dayMs, "ferns", "mosses", "lichens");
  // The copies keep the times of the first ones.
  database.addSession({ id: "ses_fork", title: "ses_first (fork #1)", createdMs: dayMs + 60_000 });
  talk("ses_fork", dayMs, "ferns", "mosses", "lichens");
  talk("ses_fork", dayMs + 60_000, "horsetails");
  database.addSession({ id: "ses_idle", title: "ses_first (fork #2)", createdMs: dayMs + 70_000 });
  talk("ses_idle", dayMs, "ferns", "mosses", "lichens");
  database.addSession({ id: "ses_last", title: "gone (fork #1)", createdMs: dayMs + 80_000 });
  talk("ses_last", dayMs + 10, "bracken", "polypody", "spleenwort");
  // One that is too short to be filed is filed with the fork that goes on with it.
  database.addSession({ id: "ses_short", createdMs: dayMs + 90_000 });
  talk("ses_short", dayMs + 90_000, "selaginella");
  database.addSession({ id: "ses_long", title: "ses_short (fork #1)", createdMs: dayMs + 95_000 });
  talk("ses_long", dayMs + 90_000, "selaginella");
  talk("ses_long", dayMs + 95_000, "quillworts", "whisk");
  expect(await feed(palace)).toMatchObject({ sessions: 6, filed: 4, tooShort: 2 });
  const text = filed(palace);
  for (const word of ["ferns", "mosses", "lichens", "horsetails", "bracken", "polypody", "spleenwort", "selaginella"])
    expect(text.split(word), word).toHaveLength(2);
  database.close();
});

test("what a fork was filed without is filed with it once the other session is gone, in this palace and in another", async () => {
  await using palace = createTestPalace();
  const { database, talk } = openTalks(palace);
  const counts = (): number[] => ["ferns", "mosses", "lichens", "horsetails"].map((word) => times(palace, word));
  database.addSession({ id: "ses_first", createdMs: dayMs });
  talk("ses_first", dayMs, "ferns", "mosses", "lichens");
  database.addSession({ id: "ses_fork", createdMs: dayMs + 60_000 });
  talk("ses_fork", dayMs, "ferns", "mosses", "lichens");
  talk("ses_fork", dayMs + 60_000, "horsetails");
  await feed(palace);
  expect(counts()).toEqual([1, 1, 1, 1]);

  database.remove("ses_first");
  await using other = createTestPalace({
    env: { XDG_CACHE_HOME: join(palace.home, ".cache"), XDG_DATA_HOME: join(palace.home, ".local/share") },
  });
  await feed(other);
  expect(["ferns", "mosses", "lichens", "horsetails"].map((word) => times(other, word))).toEqual([1, 1, 1, 1]);
  await feed(palace);
  expect(counts().every((count) => count > 0)).toBe(true);
  database.close();
});

test("a fork holds what the other session has said but was not filed with", async () => {
  await using palace = createTestPalace();
  const { database, talk } = openTalks(palace);
  database.addSession({ id: "ses_first", createdMs: dayMs });
  talk("ses_first", dayMs, "ferns", "mosses", "lichens");
  await feed(palace);
  talk("ses_first", dayMs + 10, "horsetails");
  database.addSession({ id: "ses_fork", createdMs: dayMs + 60_000 });
  talk("ses_fork", dayMs, "ferns", "mosses", "lichens");
  talk("ses_fork", dayMs + 10, "horsetails");
  talk("ses_fork", dayMs + 60_000, "bracken", "polypody");
  await feed(palace, "--session", "ses_fork");
  for (const word of ["ferns", "mosses", "lichens", "horsetails", "bracken"]) expect(times(palace, word), word).toBe(1);
  database.close();
});

/** `palace import adopt DIR` adopts an existing MemPalace palace in place. It prints its progress and how agents reach the palace. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectClient } from "../../wire/client/client.ts";
import { clearStop, ensureBroker } from "../../wire/client/start.ts";
import { type Config, loadConfig } from "../../config/config.ts";
import { quoted } from "../../base/shell-word.ts";
import { PalaceError, unavailable, wrongUsage } from "../../base/errors.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { assertPalace, palaceFolder, type Survey, surveyPalace } from "../../mempalace/adopt/survey.ts";
import { describeAdoption } from "../report/describe.ts";
import { plural } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";
import { mcpEntry } from "../terminal/spelling.ts";
import { defineVerb, options } from "../define-verb.ts";

const POLL_MS = 200;
/** Time after which we report that the broker cannot compare the palace; until then the broker tries again. */
const REFUSED_MAX_MS = 15_000;

export const verb = defineVerb({
  usage: `palace import adopt DIR [--dry-run]

Adopts the MemPalace palace in DIR (the folder with chroma.sqlite3, or the home above it), where it is: nothing is
converted or moved, and MemPalace can use it again at any time. Its drawers, their metadata and vectors are read into a ledger
beside them and compared, row by row, before anything is written there. If you interrupt it, the next run continues.

  --dry-run   list what is there, and what would be adopted; start nothing and write nothing`,
  options: options("dry-run"),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [dir = ""], config: own, env, out }) => {
    const palaceDir = palaceFolder(resolve(dir), existsSync);
    if (palaceDir === undefined)
      throw wrongUsage(
        `there is no palace in ${resolve(dir)}: neither this folder nor its subfolder palace holds a chroma.sqlite3`,
        "name the folder that `mempalace status` shows as its palace",
      );
    const named = loadConfig(env, { palace: palaceDir });
    // If DIR is this home's own palace, its ledger is in the home, not in DIR.
    const config = own.paths.palaceDir === named.paths.palaceDir ? own : named;
    // Without this check, a ledger and a broker would be left beside a folder that is not a palace.
    assertPalace(palaceDir);
    if (values["dry-run"] === true) {
      const survey = surveyPalace(palaceDir, config.collection());
      if (survey === undefined) throw wrongUsage(`${palaceDir} contains no drawers yet`, "palace start");
      return out.answer({ palace: palaceDir, dryRun: true, ...survey }, out.spelled(describeSurvey(palaceDir, survey)));
    }
    const status = await adopt(config, new Progress({ silent: out.isJson }));
    const { drawers, adoption } = status;
    return out.answer({ palace: palaceDir, drawers, adoption }, out.spelled(describeResult(config, status)));
  },
});

/** Resolves when the palace is verified. Errors: STORE_UNAVAILABLE with the broker's reason and remedy; as ensureBroker. */
async function adopt(config: Config, progress: Progress): Promise<StatusReport> {
  clearStop(config);
  await ensureBroker(config);
  const client = await connectClient({ config, agent: "palace adopt", start: "auto" });
  let refusedAtMs: number | undefined;
  let told = "";
  try {
    for (;;) {
      const status = await client.call("palace.status", {});
      const { state, rows, read, detail, hint } = status.adoption;
      if (status.error !== undefined) throw new PalaceError(status.error.code, status.error.message, status.error.hint);
      if (state === "verified" || (state === "none" && status.strays.state === "off")) return status;
      if (status.strays.state === "unreadable") throw unavailable(status.strays.detail, "palace doctor");
      // Only the driver's state shows that the Chroma server cannot be reached.
      const isAway = state === "none" && status.driver.state === "unreachable";
      refusedAtMs = state === "refused" || isAway ? (refusedAtMs ?? performance.now()) : undefined;
      if (refusedAtMs !== undefined && performance.now() - refusedAtMs > REFUSED_MAX_MS)
        throw isAway
          ? unavailable(`the palace cannot be opened: ${status.driver.detail}`, "palace doctor")
          : unavailable(`the palace cannot be compared: ${detail}`, hint);
      const line = describeAdoption(status.adoption);
      progress.step(read, rows, state, line === told ? undefined : line);
      told = line ?? "";
      await sleep(POLL_MS);
    }
  } finally {
    progress.end();
    client.close();
  }
}

function describeSurvey(palaceDir: string, survey: Survey): string {
  const { drawers, queued, vectors, width, torn, recipe, others } = survey;
  const lines = [
    `${palaceDir} holds ${plural(drawers, "drawer")}${queued === 0 ? "" : `, ${queued} of them in its queue only`}.`,
    `${plural(vectors, "vector")} can be read${width === null ? "" : `, of ${width} numbers each`}.`,
    ...(torn === null ? [] : [`Its index is damaged (${torn}): its texts are embedded again.`]),
    ...(vectors < drawers ? [`${plural(drawers - vectors, "text")} will be embedded again.`] : []),
    ...(recipe === null
      ? []
      : [`New drawers get ids as ${recipe === "v3" ? "MemPalace 3.11" : "MemPalace 3.3.6"} makes them.`]),
    ...others.map(({ name, rows }) => `${name} (${plural(rows, "row")}) stays as it is.`),
    "Nothing was changed. Next:",
    `  palace import adopt ${quoted(palaceDir)}`,
  ];
  return lines.join("\n");
}

function describeResult({ paths }: Config, { drawers, adoption, search }: StatusReport): string {
  const isNamed = paths.home === paths.palaceDir;
  const pending =
    search.pending === 0
      ? []
      : [`${plural(search.pending, "text")} are being embedded; search by words works at once.`];
  return [
    `${paths.palaceDir}: ${describeAdoption(adoption) ?? "there was nothing to adopt"}.`,
    ...pending,
    `The ledger is ${paths.ledgerFile}; ${plural(drawers, "drawer")} in all.`,
    ...(isNamed
      ? [
          "Agents reach it by",
          `  ${mcpEntry(paths.palaceDir)}`,
          `  or MEMPALACE_PALACE_PATH=${quoted(paths.palaceDir)} in their environment`,
        ]
      : [`Agents reach it by the usual entry: ${mcpEntry()}`]),
    `To go back to MemPalace: palace stop${isNamed ? ` --palace ${quoted(paths.palaceDir)}` : ""}; MemPalace opens the folder as it is.`,
  ].join("\n");
}

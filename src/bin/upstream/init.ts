/** `mempalace init DIR`: proposes rooms from a project's folders and writes its mempalace.yaml. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { proposeRooms, writeProject } from "../../feeder/doc-miner/detect-rooms.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { printable } from "../output.ts";
import { defineVerb } from "../verb.ts";
import { banner, confirmed } from "./format.ts";

const FILES = ["mempalace.yaml", "mempalace.yml", "mempal.yaml", "mempal.yml"];

export const verb = defineVerb({
  usage: `mempalace init DIR [--yes] [--auto-mine]

Proposes rooms from the folders of a project and writes them to DIR/mempalace.yaml, after a question unless --yes; a project
file that is there is left as it is. People and projects are not looked for, and no language model is asked: the options for
both are taken and have no effect. --auto-mine files the project afterwards.`,
  options: {
    yes: { type: "boolean" },
    "auto-mine": { type: "boolean" },
    lang: { type: "string" },
    llm: { type: "boolean" },
    "no-llm": { type: "boolean" },
    "llm-provider": { type: "string" },
    "llm-model": { type: "string" },
    "llm-endpoint": { type: "string" },
    "llm-api-key": { type: "string" },
    "accept-external-llm": { type: "boolean" },
  },
  args: [1, 1],
  run: async ({ values, args: [dir = ""], config: { paths }, env, out }) => {
    const root = resolve(dir);
    if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new PalaceError("FEEDER_SOURCE_UNREADABLE", `directory not found: ${root}`, "name a project's folder");
    const existing = FILES.find((name) => existsSync(join(root, name)));
    const proposal = proposeRooms(root);
    let written = false;
    if (existing === undefined) {
      if (!out.isJson) {
        banner(out, ["MemPalace Init -- Local setup"]);
        out.text(`  WING: ${printable(proposal.wing)}\n  (rooms detected from ${proposal.source})\n`);
        for (const { name, description } of proposal.rooms)
          out.text(`    ROOM: ${printable(name)}\n          ${printable(description)}`);
        out.text(`\n${"-".repeat(55)}`);
      }
      written = await confirmed("Write these rooms to mempalace.yaml?", values.yes);
      if (written) await writeProject(root, proposal);
    }
    if (out.isJson) out.document({ root, written, ...(existing !== undefined && { existing }), ...proposal });
    else if (existing !== undefined) out.text(`  ${existing} is there and stays as it is.`);
    else
      out.text(written ? `  Config saved: ${join(root, "mempalace.yaml")}` : "  Nothing written; to write it: --yes");
    if (values["auto-mine"] !== true) {
      if (!out.isJson) out.text(`\n  Next: mempalace mine ${root}\n`);
      return 0;
    }
    const { verb: mine } = await import("./mine.ts");
    const palace = paths.palaceDir === paths.home ? ["--palace", paths.home] : [];
    return mine.execute([root, ...palace], env);
  },
});

/** `palace export DIR` lets Chroma itself write a new palace, which MemPalace can open. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { wrongUsage } from "../../base/errors.ts";
import { answerJob } from "../report/job.ts";
import { type Output, plural } from "../terminal/output.ts";
import { assertNoCommand } from "../terminal/place.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace export DIR [--chroma FILE | --without-chroma] [--partial]

Writes everything into DIR as a new palace that MemPalace opens: drawers with metadata and vectors, closets, knowledge graph,
tunnels and hallways, all as of one moment; agents may work meanwhile. DIR must be empty or not exist. It appears only after it is
verified by count and hash; Ctrl-C leaves nothing behind. DIR is a folder on the broker's machine.

  --chroma FILE      the chroma command to write with (else: the npm package's, else chroma on the PATH, else none)
  --without-chroma   write the same files without Chroma
  --partial          leave out drawers that have no vector yet`,
  options: options("chroma= without-chroma partial"),
  args: [1, 1],
  run: ({ values, args, config, out }) => {
    assertNoCommand("palace export", args[0] ?? "");
    const dir = resolve(args[0] ?? "");
    const without = values["without-chroma"] === true;
    if (without && values.chroma !== undefined)
      throw wrongUsage("--chroma and --without-chroma exclude each other", "leave one out");
    const named = values.chroma?.includes("/") === true ? resolve(values.chroma) : values.chroma;
    const chroma = without ? null : named;
    const asked = { dir, partial: values.partial === true, ...(chroma !== undefined && { chroma }) };
    return answerJob<Result>(config, { kind: "export", ...asked }, out, (result) => print(result, out));
  },
});

type Result = {
  dir: string;
  drawers: number;
  leftOut: number;
  later: number;
  hash: string;
  others: { name: string; rows: number; unreadable: number }[];
  graph: { entities: number; facts: number; tunnels: number; hallways: number };
  events: number;
  writer: string;
  withoutChroma?: string;
};

function print(result: Result, out: Output): void {
  const { dir, drawers, leftOut, later, hash, others, graph, writer, withoutChroma: why } = result;
  out.text(`${plural(drawers, "drawer")} written by ${writer} and verified (sha256 ${hash.slice(0, 16)}…): ${dir}`);
  if (why !== undefined) out.notice(`${why}; the same files were written without Chroma`);
  if (leftOut > 0) out.text(`${plural(leftOut, "drawer")} without a vector left out`);
  if (later > 0) out.text(`${plural(later, "drawer")} filed during the export not in it`);
  for (const { name, rows, unreadable } of others)
    out.text(`${name}: ${plural(rows, "row")}${unreadable === 0 ? "" : `, ${unreadable} could not be read`}`);
  out.text(
    `graph: ${plural(graph.facts, "fact")}, ${plural(graph.tunnels, "tunnel")}, ${plural(graph.hallways, "hallway")}`,
  );
  if (result.events > 0) out.text(`agents: ${plural(result.events, "event")}`);
  out.text(`Open it: mempalace --palace ${dir} status`);
  if (graph.tunnels + graph.hallways > 0)
    out.text(`MemPalace reads tunnels and hallways beside a palace: mv -n ${dir}/*.json ${dirname(dir)}/`);
  if (!existsSync(dir)) out.notice("the folder is on the broker's machine, which is not this one");
}

/** `palace events artifact put|get` stores and fetches exact texts for other agents, like MemPalace 3.11. */
import { writeFileSync } from "node:fs";
import { PalaceError } from "../../base/errors.ts";
import { defineVerb } from "../define-verb.ts";
import { verbOfActions } from "./actions.ts";
import { callLog, isSpooled, orRefusal, readMetadata, readText, required } from "./log-call.ts";

const text = { type: "string" } as const;

type Artifact = { id: string; kind: string; sha256: string; size_bytes: number; warnings?: string[] };

const put = defineVerb({
  usage: `palace events artifact put --kind patch|file|log|json|note --created-by A [--content TEXT | --file F] [--metadata JSON]

Keeps a text to the byte and prints its id. Without --content and --file it is read from stdin.`,
  options: { kind: text, "created-by": text, content: text, file: text, metadata: text },
  args: [0, 0],
  place: "anew",
  run: ({ values, config, out }) =>
    orRefusal(out, async () => {
      const { kind, "created-by": by } = required(values, ["kind", "created-by"]);
      const isGiven = values.content !== undefined || values.file !== undefined;
      const content = await readText(values.content, isGiven ? values.file : "-");
      const given = { kind, content, created_by: by, metadata: readMetadata(values.metadata) };
      const answer = await callLog(config, "artifact_put", given);
      if (isSpooled(answer, out)) return 0;
      const artifact = answer["artifact"] as Artifact;
      if (out.isJson) out.document(artifact);
      else
        out.text(
          `Stored ${artifact.id}  kind=${artifact.kind}\n  sha256=${artifact.sha256}\n  size=${artifact.size_bytes} bytes`,
        );
      for (const warning of artifact.warnings ?? []) out.notice(`Warning: ${warning}`);
      return 0;
    }),
});

const get = defineVerb({
  usage: `palace events artifact get ID [--out FILE]

Writes an artifact to stdout or to a file, to the byte: palace events artifact get ID | git apply`,
  options: { out: text },
  args: [1, 1],
  run: ({ values, args: [id], config, out }) =>
    orRefusal(out, async () => {
      const answer = await callLog(config, "artifact_get", { artifact_id: id });
      const { content, ...artifact } = answer["artifact"] as Artifact & { content: string };
      const file = values.out;
      if (file !== undefined) write(file, content);
      if (out.isJson) out.document(file === undefined ? answer["artifact"] : { ...artifact, content_written_to: file });
      else if (file === undefined) process.stdout.write(content);
      else out.text(`Wrote ${artifact.size_bytes} bytes to ${file}\n  sha256=${artifact.sha256}`);
      return 0;
    }),
});

function write(file: string, content: string): void {
  try {
    writeFileSync(file, content);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new PalaceError("CONFIG_BAD_VALUE", `${file} cannot be written (${code ?? ""})`, "name another file", {
      cause,
    });
  }
}

export const verb = verbOfActions(
  `palace events artifact put | get [options]

Stores and fetches exact texts that agents send each other: patches, files, logs. \`palace events artifact put --help\` has the options of one.`,
  { put, get },
);

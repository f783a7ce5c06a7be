/** `palace events artifact put|get` stores and fetches exact texts for other agents, like MemPalace 3.11. */
import { writeFileSync } from "node:fs";
import { badValue } from "../../base/errors.ts";
import { options } from "../define-verb.ts";
import { defineToolVerb, readMetadata, readText, verbOfActions } from "./log-call.ts";

type Artifact = { id: string; kind: string; sha256: string; size_bytes: number; warnings?: string[] };

const put = defineToolVerb({
  usage: `palace events artifact put --kind patch|file|log|json|note --created-by A [--content TEXT | --file F] [--metadata JSON]

Stores a text byte for byte and prints its id. Without --content and --file it is read from stdin.`,
  options: options("kind= created-by= content= file= metadata="),
  place: "anew",
  tool: "artifact_put",
  required: ["kind", "created-by"],
  asked: async ({ content, file, metadata }) => ({
    content: await readText(content, content === undefined ? (file ?? "-") : file),
    ...{ file: undefined, metadata: readMetadata(metadata) },
  }),
  show: (answer, { out }) => {
    const artifact = answer["artifact"] as Artifact;
    const { id, kind, sha256, size_bytes: bytes, warnings = [] } = artifact;
    out.answer(artifact, `Stored ${id}  kind=${kind}\n  sha256=${sha256}\n  size=${bytes} bytes`);
    for (const warning of warnings) out.notice(`Warning: ${warning}`);
    return 0;
  },
});

const get = defineToolVerb({
  usage: `palace events artifact get ID [--out FILE]

Writes an artifact to stdout or to a file, byte for byte: palace events artifact get ID | git apply`,
  options: options("out="),
  args: [1, 1],
  tool: "artifact_get",
  asked: (_values, [id]) => ({ artifact_id: id, out: undefined }),
  show: (answer, { values: { out: file }, out }) => {
    const { content, ...artifact } = answer["artifact"] as Artifact & { content: string };
    if (file === undefined) return out.answer(answer["artifact"], () => process.stdout.write(content));
    write(file, content);
    const wrote = `Wrote ${artifact.size_bytes} bytes to ${file}\n  sha256=${artifact.sha256}`;
    return out.answer({ ...artifact, content_written_to: file }, wrote);
  },
});

function write(file: string, content: string): void {
  try {
    writeFileSync(file, content);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw badValue(`${file} cannot be written (${code ?? ""})`, "name another file", cause);
  }
}

export const verb = verbOfActions(
  `palace events artifact put | get [options]

Stores and fetches exact texts that agents send each other: patches, files, logs. \`palace events artifact put --help\` has the options of one.`,
  { put, get },
);

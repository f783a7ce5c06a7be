/** Stores artifacts: exact texts that agents send to each other, such as patches and logs. Runs on the log's thread. */
import type { Artifact, LogstreamReader, LogstreamTx } from "../../memory/port/logstream.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import { PalaceError } from "../../base/errors.ts";
import { FRAME_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { addEvent } from "./events.ts";
import { artifactContent, kind, metadata, reprOf, routing } from "./fields.ts";

/** Maximum bytes of an artifact in one message, without the message's envelope. */
const ANSWER_MAX_BYTES = FRAME_SIZE_MAX_BYTES - 1024;

type Values = Record<string, unknown>;

export function putArtifact(tx: LogstreamTx, { params, atMs }: WriteCall): unknown {
  return { success: true, artifact: addArtifact(tx, params, atMs) };
}

export function getArtifact(reader: LogstreamReader, values: Values): unknown {
  const id = routing(values["artifact_id"], "artifact_id");
  const artifact = reader.artifact(id);
  if (artifact === undefined) return { error: `artifact ${reprOf(values["artifact_id"])} not found` };
  if (Buffer.byteLength(JSON.stringify(JSON.stringify({ artifact }, null, 2))) > ANSWER_MAX_BYTES)
    throw new PalaceError(
      "TRANSPORT_FRAME_TOO_LARGE",
      `the artifact ${id} is larger than a message once its characters are escaped`,
      "hand it over as several artifacts",
    );
  return { artifact };
}

export function submitPatch(tx: LogstreamTx, { params, atMs }: WriteCall): unknown {
  const { content, room = "patches", ...event } = params;
  const patch = { kind: "patch", content, created_by: event["from_agent"], metadata: event["metadata"] };
  const artifact = addArtifact(tx, patch, atMs);
  const announced = addEvent(
    tx,
    { ...event, room, type: "patch.ready", status: "ready", artifact_ids: [artifact.id] },
    atMs,
  );
  return { success: true, artifact, event: announced };
}

function addArtifact(tx: LogstreamTx, values: Values, atMs: number): Artifact & { warnings?: string[] } {
  const artifact = {
    kind: kind(values["kind"]),
    created_by: routing(values["created_by"], "created_by"),
    content: artifactContent(values["content"]),
    metadata: metadata(values["metadata"]),
    atMs,
  };
  const warnings = artifact.kind === "patch" ? patchWarnings(artifact.content) : [];
  return { ...tx.addArtifact(artifact), ...(warnings.length > 0 && { warnings }) };
}

function patchWarnings(content: string): string[] {
  return [
    ...(content.endsWith("\n") ? [] : ["the patch does not end with a newline: git apply calls its last hunk corrupt"]),
    ...(content.includes("\r") ? ["the patch has carriage returns: git apply often refuses it; make it with LF"] : []),
  ];
}

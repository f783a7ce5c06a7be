/**
 * Identifies the session of a coding agent by its transcript's name alone. The same session may be filed twice, from
 * the agent's own file and from the session miner's transcript: this file recognises that. Pure. Used by feeders and
 * the engine.
 */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Names of the session miner's transcripts. */
const WRITTEN_DOWN = /^(?:claude-code|pi)-(?:\d{4}-\d{2}-\d{2}|undated)-/;

export type SessionName = {
  /** The session's own number; agents without one are not recognised. */
  uuid: string;
  /** False: the agent's own file. */
  isWrittenDown: boolean;
};

/** Returns the session of a transcript; undefined if the file's name is not that of a session's transcript. */
export function sessionNameOf(sourceFile: string): SessionName | undefined {
  const name = sourceFile.slice(Math.max(sourceFile.lastIndexOf("/"), sourceFile.lastIndexOf("\\")) + 1);
  const uuid = name.endsWith(".jsonl") ? name.toLowerCase().match(UUID)?.at(-1) : undefined;
  return uuid === undefined ? undefined : { uuid, isWrittenDown: WRITTEN_DOWN.test(name) };
}

/**
 * Which session of a coding agent a transcript is, by its name alone. The same session may be filed twice, from the agent's own
 * file and from what the session miner wrote down of it: that is recognised here. Pure. Used by feeders and the engine.
 */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** As the session miner names what it writes. */
const WRITTEN_DOWN = /^(?:claude-code|pi)-(?:\d{4}-\d{2}-\d{2}|undated)-/;

export type SessionName = {
  /** The session's own number; of agents that give none, nothing is known. */
  uuid: string;
  /** False: the agent's own file. */
  isWrittenDown: boolean;
};

/** Undefined: no transcript of a session, by its name. */
export function sessionNameOf(sourceFile: string): SessionName | undefined {
  const name = sourceFile.slice(Math.max(sourceFile.lastIndexOf("/"), sourceFile.lastIndexOf("\\")) + 1);
  const uuid = name.endsWith(".jsonl") ? name.toLowerCase().match(UUID)?.at(-1) : undefined;
  return uuid === undefined ? undefined : { uuid, isWrittenDown: WRITTEN_DOWN.test(name) };
}

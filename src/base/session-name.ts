/** Identifies a session by its transcript's name: a session may have the agent's own transcript and one that our session miner wrote. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const SESSION_MINER_NAME = /^(?:claude-code|pi)-(?:\d{4}-\d{2}-\d{2}|undated)-/;

export type SessionName = {
  uuid: string;
  /** True for the session miner's transcript, false for the agent's own file. */
  isWrittenDown: boolean;
};

/** Returns undefined if the file name has no UUID or does not end in `.jsonl`. */
export function sessionNameOf(sourceFile: string): SessionName | undefined {
  const name = sourceFile.slice(Math.max(sourceFile.lastIndexOf("/"), sourceFile.lastIndexOf("\\")) + 1);
  const uuid = name.endsWith(".jsonl") ? name.toLowerCase().match(UUID)?.at(-1) : undefined;
  return uuid === undefined ? undefined : { uuid, isWrittenDown: SESSION_MINER_NAME.test(name) };
}

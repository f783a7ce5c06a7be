/** Names of secrets, which the settings file does not hold, and what to use instead. Pure. Imported by settings-file.ts and bin. */

const SECRETS: Readonly<Record<string, string>> = {
  token: "write it into a file of your own (chmod 600), then: export MEMPALACE_TOKEN_FILE=FILE",
  "chroma-token": "export MEMPALACE_CHROMA_TOKEN=… where the broker is started",
  "judge-key": "export MEMPALACE_JUDGE_KEY=… where the agent is started",
  "backup-passphrase":
    "write it into a file of your own (chmod 600), then: palace config set backup-passphrase-file FILE",
};

/** Returns what to do with a secret of that name; undefined: it is not the name of one. */
export function secretOf(key: string): string | undefined {
  return Object.hasOwn(SECRETS, key) ? SECRETS[key] : undefined;
}

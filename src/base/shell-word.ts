/** Quotes a text as one shell word, for commands that people copy from our messages. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

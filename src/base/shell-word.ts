/** Quotes a text as one shell word, for commands that people paste. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

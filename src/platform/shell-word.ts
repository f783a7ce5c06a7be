/** Names of files in commands that are meant to be pasted. Imported by whatever writes hints. */

/** As a shell takes it for one word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

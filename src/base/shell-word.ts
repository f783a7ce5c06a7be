/** Quotes file names in commands that are meant to be pasted. Imported by the code that writes hints. */

/** Quotes the text as one word of a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** Hides passwords that stand in addresses, before a text is shown or logged. Imported from anywhere. */

/** The parts are bounded, so that the search takes no longer than the text is long. */
const PASSWORD = /\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s/?#@:"'`<>]{0,200}):[^\s/?#@"'`<>]{1,500}@/gi;

/** Returns the text with `…` in the place of each password: `http://ada:…@host`. */
export function withoutPassword(text: string): string {
  return text.includes("@") ? text.replaceAll(PASSWORD, "$1:…@") : text;
}

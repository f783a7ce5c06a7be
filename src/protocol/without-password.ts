/** Hides passwords that stand in addresses, before a text is shown or logged. Imported from anywhere. */

/**
 * An address up to the last `@` before a blank: a password that nobody has escaped may hold `/`, `?`, `#`, `@` and quotes. The
 * parts are bounded, so that the search takes no longer than the text is long.
 */
const USER_PART = /\b([a-z][a-z0-9+.-]{0,20}):\/\/(\S{1,2000})@/gi;

/**
 * Returns the text with `…` in the place of each password, `http://ada:…@host`, and of a user without a password, which may be a
 * token, `http://…@host`. SSH's user stays.
 */
export function withoutPassword(text: string): string {
  return text.includes("@") ? text.replaceAll(USER_PART, hidden) : text;
}

function hidden(address: string, scheme: string, part: string): string {
  const [, user = "", end] = /^([^:/?#]*)(.?)/s.exec(part) ?? [];
  const isHost = user.startsWith("[") || (end !== ":" && end !== "");
  if (isHost || (end === "" && /ssh$/i.test(scheme))) return address;
  return end === ":" ? `${scheme}://${user}:…@` : `${scheme}://…@`;
}

/** Hides passwords that stand in addresses, before a text is shown or logged. Imported from anywhere. */

/** The beginning of an address, which ends where the next one begins. */
const SCHEME = /([a-z][a-z0-9+.-]{0,20}:\/\/)/i;
/** The end of an address: a blank, or the end of a text in JSON. */
const END = /\s|"[\]},:]/;

/**
 * Returns the text with `…` in the place of each user with a password, `http://…@host`, and of each user without one, which may
 * be a token. SSH's user stays: `ssh://ada:…@host`. A password that nobody has escaped may hold `/`, `?`, `#`, `@` and quotes:
 * the last `@` counts.
 */
export function withoutPassword(text: string): string {
  if (!text.includes("@") || !text.includes("://")) return text;
  const parts = text.split(SCHEME);
  // Every second part is a scheme.
  return parts.map((part, at) => (at > 0 && at % 2 === 0 ? hidden(parts[at - 1] ?? "", part) : part)).join("");
}

function hidden(scheme: string, rest: string): string {
  const end = rest.search(END);
  const at = rest.lastIndexOf("@", end < 0 ? rest.length : end);
  if (at < 1) return rest;
  const [user = ""] = /^[^:/?#]*/.exec(rest.slice(0, at)) ?? [];
  const isAlone = user.length === at;
  const isHost = user.startsWith("[") || (!isAlone && rest[user.length] !== ":");
  const isSsh = /ssh:/i.test(scheme);
  if (isHost || (isSsh && isAlone)) return rest;
  return `${isSsh ? `${user}:` : ""}…${rest.slice(at)}`;
}

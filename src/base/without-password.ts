/** Hides passwords in URLs before a text is shown or logged. */

/** Matches the beginning of a URL. The URL ends where the next URL begins, or earlier. */
const SCHEME = /([a-z][a-z0-9+.-]{0,20}:\/\/)/i;
/** Matches the end of a URL: a blank, or the end of a string in JSON. */
const END = /\s|"[\]},:]/;

/**
 * Returns the text with `…` in place of the user and password of each URL: `http://…@host`. A user without a password is hidden, too,
 * because it may be a token. SSH's user stays: `ssh://ada:…@host`. An unescaped password may contain `/`, `?`, `#`, `@` and quotes, so the
 * last `@` counts.
 */
export function withoutPassword(text: string): string {
  if (!text.includes("@") || !text.includes("://")) return text;
  const parts = text.split(SCHEME);
  // `parts` alternates between texts (even indexes) and the scheme of the URL with which the next text begins (odd indexes).
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

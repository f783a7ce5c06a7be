/** Hides passwords in URLs before a text is shown or logged. */

const SCHEME = /([a-z][a-z0-9+.-]{0,20}:\/\/)/i;
/** Matches the end of a URL: white space, or the end of a JSON string. */
const END = /\s|"[\]},:]/;

/**
 * Replaces user and password of each URL: `http://…@host`. Also replaces a user without a password, which may be a token. In an SSH URL,
 * replaces only the password: `ssh://ada:…@host`. The password ends at the URL's last `@`, because a password may contain an `@`.
 */
export function withoutPassword(text: string): string {
  if (!text.includes("@") || !text.includes("://")) return text;
  const parts = text.split(SCHEME);
  // Odd indexes have a URL's scheme; the next even index has the rest of the URL and the text after it.
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

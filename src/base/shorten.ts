/** Shortens a text for logs and errors, because a peer may send a name of ten megabytes. */
export function cut(text: string, max = 200): string {
  if (text.length <= max) return text;
  // Never splits a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text[max - 1] ?? "") ? max - 1 : max;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

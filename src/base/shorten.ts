/** Shortens a text for logs and errors. A peer may send a name of ten megabytes, which log and answer must not repeat. */
export function cut(text: string, max = 200): string {
  if (text.length <= max) return text;
  // Does not cut a surrogate pair in two.
  const end = /[\uD800-\uDBFF]/.test(text[max - 1] ?? "") ? max - 1 : max;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

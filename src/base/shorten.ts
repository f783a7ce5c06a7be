/** Shortens a text for logs and errors. A peer may send a name of ten megabytes, and log and answer should not repeat it. */
export function cut(text: string, max = 200): string {
  if (text.length <= max) return text;
  // The end must not be half of a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text[max - 1] ?? "") ? max - 1 : max;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

/**
 * Bounds a text for logs and errors: what a peer has sent is told by its beginning, so that ten megabytes in a name are not ten
 * megabytes more in the log and in the answer.
 */
export function cut(text: string, max = 200): string {
  if (text.length <= max) return text;
  // No half of a surrogate pair at the end.
  const end = /[\uD800-\uDBFF]/.test(text[max - 1] ?? "") ? max - 1 : max;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

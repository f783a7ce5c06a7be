/**
 * Bounds a text for logs and errors: only the beginning of what a peer has sent is quoted, so that ten megabytes in a
 * name do not become ten megabytes more in the log and in the answer.
 */
export function cut(text: string, max = 200): string {
  if (text.length <= max) return text;
  // The end must not be half of a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text[max - 1] ?? "") ? max - 1 : max;
  return `${text.slice(0, end)}… (${text.length} characters)`;
}

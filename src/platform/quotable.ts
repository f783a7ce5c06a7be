/**
 * Stored text that is shown inside an agent's prompt: nothing in it can pass for the host's own markup, or is there without being
 * seen. Pure; used by the fence of agents' hooks and by the engine's injections.
 */

/** Characters that a reader may take for `<`: the sign itself, its full-width and its small form. */
const ANGLE = /[<\uff1c\ufe64]/gu;
/**
 * Controls (which begin a terminal's sequences), marks that change the direction of text, invisible tags and selectors that
 * models read.
 */
const UNSEEN =
  /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad\u200b\u115f\u1160\u3164\u{e0000}-\u{e01ef}]/gu;
/** Every line end that a reader may recognise. */
const LINE_END = /\r\n|[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/u;

/** The text's lines, each of them quotable. */
export function quotableLines(text: string): string[] {
  return text
    .toWellFormed()
    .split(LINE_END)
    .map((line) => line.replaceAll("\t", " ").replaceAll(UNSEEN, "").replaceAll(ANGLE, "‹"));
}

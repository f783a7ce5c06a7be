/** Makes stored text safe inside an agent's prompt: the text cannot imitate markup and has no invisible characters. */

/** `<` and characters that look like `<`. */
const OPENING =
  /[<\uff1c\ufe64\u02c2\u1438\u16b2\u226e\u227a\u22d6\u2329\u276c\u276e\u2770\u27e8\u29fc\u2a79\u3008\ufe3f\u{1d236}]/gu;
/** Characters that look like `>`. The plain `>` is allowed, because no `<` is left for it to close. */
const CLOSING =
  /[\uff1e\ufe65\u02c3\u1433\u226f\u227b\u22d7\u232a\u276d\u276f\u2771\u27e9\u29fd\u2a7a\u3009\ufe40\u{16f3f}\u{1d237}]/gu;
/** Control and invisible characters, which steer terminals and models. Some scripts and emoji need single joiners. */
const UNSEEN = /[[\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\u200c\u200d]]/gv;
/** Several joiners in a row, which no script needs and which may hide a message. */
const JOINERS = /[\u200c\u200d]{2,}/gu;
/** All characters that some program treats as the end of a line. */
const LINE_END = /\r\n|[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/u;

export function quotableLines(text: string): string[] {
  return text
    .toWellFormed()
    .split(LINE_END)
    .map((line) => line.replaceAll("\t", " ").replaceAll(UNSEEN, "").replaceAll(JOINERS, ""))
    .map((line) => line.replaceAll(OPENING, "‹").replaceAll(CLOSING, "›"));
}

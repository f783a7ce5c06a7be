/** Tests questions in eight languages, among the eight notes of a wing and among all notes. */
import { expect, test } from "vitest";
import { LANGUAGE_WINGS } from "../../../../helpers/language-notes.ts";
import { createSearchPalace } from "../../../../helpers/search-palace.ts";

/** Minimum number of questions (of 76) for which the right note comes first. */
const RIGHT_MIN = { wing: { lexical: 74, auto: 76 }, all: { lexical: 73, auto: 75 } };

test("the right note comes first for nearly all questions, by words alone and with static vectors", async () => {
  await using palace = await createSearchPalace();
  for (const { wing, notes } of LANGUAGE_WINGS) for (const content of notes) palace.file(content, { wing });
  for (const scope of ["wing", "all"] as const)
    for (const mode of ["lexical", "auto"] as const) {
      const wrong: string[] = [];
      let right = 0;
      for (const { wing, notes, questions } of LANGUAGE_WINGS)
        for (const [question, at] of questions) {
          const [first] = await palace.texts(question, scope === "wing" ? { wing, mode } : { mode });
          if (first === notes[at]) right += 1;
          else wrong.push(`${wing}: ${question}`);
        }
      expect(right, `${scope}, ${mode}: ${wrong.join(" | ")}`).toBeGreaterThanOrEqual(RIGHT_MIN[scope][mode]);
    }
});

test("a quoted phrase is found word for word, even in Chinese text without spaces", async () => {
  await using palace = await createSearchPalace();
  for (const { wing, notes } of LANGUAGE_WINGS) for (const content of notes) palace.file(content, { wing });
  for (const [question, text] of [
    ['"备份脚本"', "备份脚本昨晚失败了"],
    ['"空值也缓存"', "空值也缓存五分钟"],
    ['"max_connections改成"', "把max_connections改成200"],
    ['"max_connections改"', "把max_connections改成200"],
    ['"🚀 went out"', "🚀 went out"],
    ['"Größe des"', "Die Größe des"],
  ]) {
    const found = await palace.texts(question as string);
    expect(found.length).toBe(1);
    expect(found[0]).toContain(text);
  }
});

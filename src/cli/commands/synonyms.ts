/** Words that people try before they have read the help, with the command that each means. Only commands that read or add run at once. */

export type Synonym = Readonly<{
  /** Command and its arguments, as a person types them. Words in capitals stand for the user's own words. */
  means: string;
  /** Verb (and subverb) to run instead of the synonym. Absent if the command is only suggested. */
  runs?: readonly string[];
}>;

/** Makes the entries of several words that suggest one call. */
const suggested = (means: string, words: string): [string, Synonym][] =>
  words.split(" ").map((word) => [word, { means }]);
const run = (means: string, words: string): [string, Synonym][] => {
  const runs = means.split(" ").filter((word, at) => at > 0 && word !== word.toUpperCase());
  return words.split(" ").map((word) => [word, { means, runs }]);
};

export const SYNONYMS: Readonly<Record<string, Synonym>> = Object.fromEntries([
  ...run("palace add TEXT", "remember note memo save store write create new put"),
  ...run("palace ls", "list memories notes wings rooms browse dir"),
  ...run("palace show ID", "get cat view open read print"),
  ...run("palace search WORDS", "find query ask recall lookup grep"),
  ...run("palace history", "log journal"),
  ...run("palace mine PATH", "ingest index feed scan"),
  ...run("palace status", "ps info"),
  ...run("palace doctor", "health check"),
  ...suggested("palace edit ID", "update change modify"),
  ...suggested("palace rm ID", "delete remove del unlink"),
  ...suggested("palace forget ID", "erase"),
  ...suggested("palace import FILE", "load merge"),
  ...suggested("palace export DIR", "dump"),
  ...suggested("palace backup", "snapshot"),
  ...run("palace config list", "settings"),
  ...suggested("palace config set KEY VALUE", "set"),
  ...suggested("palace up", "setup init"),
  ...suggested("palace install all", "connect wire login"),
  ...suggested("palace mine PATH", "sync"),
  ...suggested("palace events watch", "watch"),
  ...suggested("palace status ui", "web gui dashboard browser page"),
  ...suggested("palace devbox shell", "shell box docker"),
  ...suggested("palace start", "run serve"),
  ...suggested("palace stop", "kill quit"),
  ...suggested("palace doctor --fix", "fix"),
  ...suggested("palace repair", "rebuild"),
]);

export function findSynonym(word: string): Synonym | undefined {
  return Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : undefined;
}

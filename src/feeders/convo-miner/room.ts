/** Chooses a conversation's room: the one with the most keywords in the text's first 3,000 characters. Pure. Source: palace.md 5.3. */
import { head } from "../../memory/text/text.ts";
import { words } from "../words.ts";

const WINDOW = 3000;

/** Keywords of each room, in upstream's order: of rooms with equally many matches, the first wins. */
const ROOMS: readonly (readonly [room: string, keywords: readonly string[]])[] = [
  ["technical", words("code python function bug error api database server deploy git test debug refactor")],
  ["architecture", words("architecture design pattern structure schema interface module component service layer")],
  ["planning", words("plan roadmap milestone deadline priority sprint backlog scope requirement spec")],
  ["decisions", words("decided chose picked switched migrated replaced trade-off alternative option approach")],
  ["problems", words("problem issue broken failed crash stuck workaround fix solved resolved")],
];

export function roomOf(transcript: string): string {
  const text = head(transcript, WINDOW).toLowerCase();
  let best = "general";
  let most = 0;
  for (const [room, keywords] of ROOMS) {
    const count = keywords.filter((keyword) => text.includes(keyword)).length;
    if (count > most) [best, most] = [room, count];
  }
  return best;
}

/** The agents' diaries as one list, the newest entry first. */
import { type Drawer, listDrawers } from "./drawers.ts";
import { href, LongList } from "./parts.tsx";
import { plain, time, title } from "./words.ts";

const ROOM = "diary";

export function Diary({ changed }: { changed: number }) {
  return (
    <>
      <h1>Diary</h1>
      <p class="quiet">Entries of all agents, the newest first.</p>
      <LongList
        label="Diary entries"
        rowHeight={92}
        inputs={[changed]}
        load={(offset, limit) => listDrawers({ room: ROOM }, offset, limit)}
        row={(drawer) => <Entry drawer={drawer} />}
      />
    </>
  );
}

function Entry({ drawer }: { drawer: Drawer }) {
  const { drawer_id: id, wing, metadata, content_preview: begin = "" } = drawer;
  const who = String(metadata["agent"] ?? wing.replace(/^wing_/, ""));
  const topic = typeof metadata["topic"] === "string" ? ` · ${metadata["topic"]}` : "";
  return (
    <a class="line" href={href("drawer", { id })}>
      <small class="one">{plain(`${time(String(metadata["filed_at"]))} · ${who}${topic}`)}</small>
      <span class="one" dir="auto">
        {title(begin)}
      </span>
      <small class="one" dir="auto">
        {plain(begin.split("\n").slice(1).join(" "))}
      </small>
    </a>
  );
}

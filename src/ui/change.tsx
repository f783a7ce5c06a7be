/** Dialogs that change or add a drawer. Each first explains its effect, and afterwards how to undo it. */
import { useState } from "preact/hooks";
import { call, CallError, callTool } from "./client.ts";
import { announce, doneWith } from "./done.tsx";
import { type Drawer, listPlaces, showDrawer } from "./drawers.ts";
import { Action, Dialog, Failure, href, useLoaded } from "./parts.tsx";
import { Words } from "./search.tsx";
import { plain, plural, title } from "./words.ts";

export type Change = "edit" | "move" | "delete" | "forget";

type Props = { drawer: Drawer; onClose: () => void };

const MASK = "[redacted: ";
/** Maximum length of a text, characters, for which the dialog finds the other drawers that contain it. */
const MATCH_MAX = 100_000;
const SHOWN_MAX = 8;

export function ChangeDialog({ change, ...props }: Props & { change: Change }) {
  if (change === "edit") return <Edit {...props} />;
  if (change === "move") return <Move {...props} />;
  return change === "delete" ? <Delete {...props} /> : <Forget {...props} />;
}

function Edit({ drawer, onClose }: Props) {
  const { drawer_id: id } = drawer;
  const before = useLoaded(() => withSecrets(drawer), [id]);
  const [text, setText] = useState<string>();
  const save = async () => {
    if (text === undefined || text === before.value) return onClose();
    if (text.trim() === "") throw new CallError("The text is empty. Delete the drawer instead.");
    const now = await showDrawer(id);
    if (now === undefined || (await withSecrets(now)) !== before.value)
      throw new CallError("Somebody else changed this drawer meanwhile. Close this, and edit it again.");
    await doneWith("Changed.", true, () => callTool("update_drawer", { drawer_id: id, content: text }));
    onClose();
  };
  return (
    <Dialog title="Edit the text" onClose={onClose}>
      {drawer.content.includes(MASK) ? (
        <p>The text holds a secret, which is shown here. The broker's log notes it.</p>
      ) : null}
      <Failure error={before.error} />
      <label>
        Text
        <textarea value={text ?? before.value ?? ""} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <Buttons run={save} does="Save" onClose={onClose} />
    </Dialog>
  );
}

/** Returns the unmasked text, because a mask that is written back would replace the secret. */
async function withSecrets(drawer: Drawer): Promise<string> {
  if (!drawer.content.includes(MASK)) return drawer.content;
  const answer = await call("drawer.reveal", { id: drawer.drawer_id });
  return answer.found ? String(answer.drawer["content"]) : drawer.content;
}

function Move({ drawer, onClose }: Props) {
  const [wing, setWing] = useState(drawer.wing);
  const [room, setRoom] = useState(drawer.room);
  const move = async () => {
    const given = { drawer_id: drawer.drawer_id, wing, room };
    const isSame = wing === drawer.wing && room === drawer.room;
    if (!isSame) await doneWith(`Moved to ${wing} / ${room}.`, true, () => callTool("update_drawer", given));
    onClose();
  };
  return (
    <Dialog title="Move to another place" onClose={onClose}>
      <PlaceFields wing={wing} room={room} setWing={setWing} setRoom={setRoom} />
      <Buttons run={move} does="Move" onClose={onClose} />
    </Dialog>
  );
}

type Fields = { wing: string; room: string; setWing: (to: string) => void; setRoom: (to: string) => void };

function PlaceFields({ wing, room, setWing, setRoom }: Fields) {
  const places = useLoaded(listPlaces, []);
  return (
    <div class="fields">
      <label>
        Wing
        <input list="to-wings" value={wing} onInput={(event) => setWing(event.currentTarget.value)} />
      </label>
      <label>
        Room
        <input list="to-rooms" value={room} onInput={(event) => setRoom(event.currentTarget.value)} />
      </label>
      <Words id="to-wings" words={[...(places.value?.keys() ?? [])]} />
      <Words id="to-rooms" words={(places.value?.get(wing) ?? []).map(({ name }) => name)} />
    </div>
  );
}

function Delete({ drawer, onClose }: Props) {
  const remove = async () => {
    await doneWith("Deleted.", true, () => callTool("delete_drawer", { drawer_id: drawer.drawer_id }));
    onClose();
    location.hash = href("place", { wing: drawer.wing, room: drawer.room });
  };
  return (
    <Dialog title="Delete this drawer?" onClose={onClose}>
      <p>Agents no longer find it. The text stays in the journal and in backups, and you can take the deletion back.</p>
      <Buttons run={remove} does="Delete" onClose={onClose} />
    </Dialog>
  );
}

function Forget({ drawer, onClose }: Props) {
  const ids = [drawer.drawer_id];
  const plan = useLoaded(() => call("memory.forgetPreview", { ids }), [drawer.drawer_id]);
  const others = useLoaded(() => holders(drawer), [drawer.drawer_id]);
  const erase = async () => {
    const { drawers, erasure } = await call("memory.forget", { ids });
    const left = erasure === 0 ? "" : ` ${plural(erasure, "trace")} in files will be gone in a moment.`;
    announce({ says: `Erased ${plural(drawers, "drawer")} permanently.${left}` });
    onClose();
    location.hash = href("place", { wing: drawer.wing, room: drawer.room });
  };
  const found = others.value?.filter((one) => one.drawer_id !== drawer.drawer_id) ?? [];
  return (
    <Dialog title="Erase it permanently?" onClose={onClose}>
      <Failure error={plan.error ?? others.error} />
      {plan.value === undefined ? (
        <p class="quiet">Looking what goes with it …</p>
      ) : (
        <p>
          Erases {what(plan.value)} from the memory, its journal and its files. <strong>You cannot undo this.</strong>{" "}
          Backups that exist already keep the text. So do writes that wait on a machine, and its copies of filed
          documents. To erase these too, type <code>palace forget {plain(drawer.drawer_id)}</code> on that machine
          instead. It lists the files that keep the text.
        </p>
      )}
      {found.length === 0 ? null : (
        <>
          <p>The text is also in {plural(found.length, "other drawer")}, which stay:</p>
          <ul class="rows">
            {found.slice(0, SHOWN_MAX).map(({ drawer_id: id, wing, room, preview }) => (
              <li key={id} class="pad-y">
                <span class="one">{title(preview)}</span>
                <small class="one">{plain(`${wing} / ${room}`)}</small>
              </li>
            ))}
          </ul>
        </>
      )}
      <Buttons run={erase} does="Erase permanently" kind="danger" onClose={onClose} />
    </Dialog>
  );
}

function what({ total, facts, links }: { total: number; facts: number; links: number }): string {
  const numbers = [
    [total, "drawer"],
    [facts, "fact"],
    [links, "link"],
  ] as const;
  return numbers.flatMap(([number, word]) => (number === 0 ? [] : [plural(number, word)])).join(", ");
}

/** Finds the drawers that contain the text. A masked text is not searched, because no drawer contains it. */
async function holders({ content }: Drawer) {
  if (content.trim() === "" || content.length > MATCH_MAX || content.includes(MASK)) return [];
  return (await call("memory.forgetPreview", { match: content })).drawers;
}

export function AddNote({
  wing: given = "",
  room: at = "notes",
  onClose,
}: {
  wing?: string;
  room?: string;
  onClose: () => void;
}) {
  const [wing, setWing] = useState(given);
  const [room, setRoom] = useState(at);
  const [content, setContent] = useState("");
  const add = async () => {
    if (content.trim() === "" || wing.trim() === "") throw new CallError("A note needs a text and a wing.");
    await doneWith("Added.", false, () => callTool("add_drawer", { wing, room, content, added_by: "page" }));
    onClose();
  };
  return (
    <Dialog title="Add a note" onClose={onClose}>
      <PlaceFields wing={wing} room={room} setWing={setWing} setRoom={setRoom} />
      <label>
        Text
        <textarea value={content} onInput={(event) => setContent(event.currentTarget.value)} />
      </label>
      <Buttons run={add} does="Add" onClose={onClose} />
    </Dialog>
  );
}

type ButtonsProps = { run: () => Promise<unknown>; does: string; kind?: "danger"; onClose: () => void };

export function Buttons({ run, does, kind, onClose }: ButtonsProps) {
  return (
    <div class="buttons">
      <Action run={run} kind={kind ?? "main"}>
        {does}
      </Action>
      <button type="button" onClick={onClose}>
        Cancel
      </button>
    </div>
  );
}

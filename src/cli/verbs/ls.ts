/** `palace ls [WING[/ROOM]]` lists wings, the rooms of a wing, or the drawers of a room. */
import type { Client } from "../../wire/client/client.ts";
import { PalaceError } from "../../base/errors.ts";
import { sourcesShown } from "../../feeders/came-from.ts";
import { shortId, type ShownDrawer, titleOf } from "../terminal/drawer.ts";
import { type Found, findRoom, findWing } from "../../memory/search/filter-names.ts";
import { type Output, plural } from "../terminal/output.ts";
import { quoted } from "../../base/shell-word.ts";
import { defineVerb, options, readCount } from "../define-verb.ts";

const LIMIT = 20;
const LIMIT_MAX = 100;
const TITLE_COLUMNS = 70;

type Rooms = Readonly<Record<string, number>>;
type Place = { wing: string | undefined; room: string | undefined; hint?: string };

export const verb = defineVerb({
  usage: `palace ls [WING[/ROOM]] [--recent] [--limit N] [--page N]

Lists what the palace holds: its wings (projects or persons) with their numbers of drawers (stored texts), the rooms (topics) of one
wing, or the drawers of one room, the newest first. \`palace show ID\` prints one.

  --recent    list the newest drawers of the whole palace, or of WING
  --limit N   list N drawers (${LIMIT}, at most ${LIMIT_MAX})
  --page N    list the Nth page of them`,
  options: options("recent limit= page="),
  args: [0, 1],
  run: async ({ values, args: [given = ""], config, connect, out }) => {
    const limit = readCount(values.limit, "limit", LIMIT, 1, LIMIT_MAX);
    const page = readCount(values.page, "page", 1, 1);
    const client = await connect(config.agentName ?? "palace ls");
    const wings = await wingsOf(client);
    const { wing, room, hint } = readPlace(given, wings);
    const told = hint === undefined ? {} : { hint };
    if (hint !== undefined) out.notice(hint);
    const paging = values.limit !== undefined || values.page !== undefined;
    if (room === undefined && values.recent !== true && !paging) {
      if (wing === undefined) tellWings(wings, out);
      else tellRooms({ wing, rooms: wings[wing] ?? {}, ...told }, out);
      return 0;
    }
    const place = { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
    const found = await client.call("drawer.list", { ...place, limit, offset: (page - 1) * limit });
    const drawers = found.drawers as unknown as ShownDrawer[];
    if (out.isJson) return out.document({ ...place, ...found, ...told });
    const sourceOf = sourcesShown(config);
    out.table(
      drawers.map((drawer) => [
        ...[shortId(drawer.drawer_id), timeOf(drawer)],
        ...(room === undefined ? [`${drawer.wing}/${drawer.room}`] : []),
        (drawer.source_path === "" ? "" : `${sourceOf(drawer.source_path)}: `) +
          titleOf(drawer.content_preview ?? "", TITLE_COLUMNS),
      ]),
    );
    const seen = found.offset + drawers.length;
    if (seen < found.total) {
      const more = [given === "" ? "" : ` ${quoted(given)}`, values.recent === true ? " --recent" : ""].join("");
      const size = values.limit === undefined ? "" : ` --limit ${limit}`;
      out.hint(`${seen} of ${found.total}; more: palace ls${more}${size} --page ${page + 1}`);
    } else if (drawers.length === 0) out.notice(`page ${page} is empty: there are ${plural(found.total, "drawer")}`);
    return 0;
  },
});

async function wingsOf(client: Client): Promise<Record<string, Rooms>> {
  const { places } = await client.call("drawer.places", {});
  const wings = Object.create(null) as Record<string, Record<string, number>>;
  for (const { wing, room, drawers } of places)
    (wings[wing] ??= Object.create(null) as Record<string, number>)[room] = drawers;
  return wings;
}

/** Splits `WING/ROOM`. A wing's name may contain a slash, so the longest matching wing is used. Errors: PROTOCOL_BAD_PARAMS. */
function readPlace(given: string, wings: Readonly<Record<string, Rooms>>): Place {
  if (given === "") return { wing: undefined, room: undefined };
  const asked = given.replace(/\/$/, "");
  const names = Object.keys(wings);
  const whole = findWing(asked, names);
  if (whole.name === asked) return { wing: asked, room: undefined };
  const begun = names.filter((one) => asked.startsWith(`${one}/`)).sort((a, b) => b.length - a.length)[0];
  const end = begun?.length ?? asked.indexOf("/");
  if (end < 0) return { wing: nameOf(whole, ""), room: undefined, ...hintIn(whole) };
  const inWing = findWing(asked.slice(0, end), names);
  const wing = nameOf(inWing, "");
  const inRoom = findRoom(asked.slice(end + 1), Object.keys(wings[wing] ?? {}), wing);
  return { wing, room: nameOf(inRoom, wing), ...hintIn(inWing, inRoom) };
}

/** Returns the name of a wing or room. `wing`: the room's wing, or "". Errors: PROTOCOL_BAD_PARAMS for an unknown or ambiguous name. */
function nameOf({ name, hint = "", near: [near] = [] }: Found, wing: string): string {
  if (name !== undefined) return name;
  const list = `to see which there are: palace ls${wing === "" ? "" : ` ${quoted(wing)}`}`;
  const meant = near === undefined ? list : `did you mean: palace ls ${quoted(wing === "" ? near : `${wing}/${near}`)}`;
  throw new PalaceError("PROTOCOL_BAD_PARAMS", hint, meant);
}

function hintIn(...found: Found[]): { hint?: string } {
  const hints = found.flatMap(({ hint }) => hint ?? []);
  return hints.length === 0 ? {} : { hint: hints.join("; ") };
}

function tellWings(wings: Readonly<Record<string, Rooms>>, out: Output): void {
  const rows = Object.entries(wings).map(([wing, rooms]) => ({
    ...{ wing, rooms },
    drawers: Object.values(rooms).reduce((sum, count) => sum + count, 0),
  }));
  if (out.isJson)
    return void out.document({ wings: Object.fromEntries(rows.map(({ wing, drawers }) => [wing, drawers])) });
  out.table(
    rows
      .sort((a, b) => b.drawers - a.drawers)
      .map(({ wing, drawers, rooms }) => [wing, plural(drawers, "drawer"), roomsIn(rooms)]),
  );
  if (rows.length === 0) out.hint('Nothing is filed yet. Begin with: palace add "what to remember"');
}

function tellRooms(told: { wing: string; rooms: Rooms; hint?: string }, out: Output): void {
  if (out.isJson) return void out.document(told);
  const { wing, rooms } = told;
  const rows = Object.entries(rooms).sort(([, a], [, b]) => b - a);
  out.table(rows.map(([room, drawers]) => [`${wing}/${room}`, plural(drawers, "drawer")]));
}

function roomsIn(rooms: Rooms): string {
  const names = Object.entries(rooms)
    .sort(([, a], [, b]) => b - a)
    .map(([room]) => room);
  const shown = names.slice(0, 4).join(", ");
  return names.length > 4 ? `${shown} and ${names.length - 4} more` : shown;
}

function timeOf({ metadata: { filed_at: filedAt } }: ShownDrawer): string {
  return typeof filedAt === "string" ? filedAt.slice(0, 16).replace("T", " ") : "";
}

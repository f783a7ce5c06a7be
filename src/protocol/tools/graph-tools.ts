/** Rows of the tool table for facts, and for links between rooms and between entities. */
import { ANNOUNCED, integer, page, READ, ROOM, text, tool, WING, WRITE } from "./row.ts";

export const GRAPH_TOOLS = {
  kg_query: tool(
    { ...ANNOUNCED, light: { place: 5, shown: ["entity", "as_of"] } },
    "Read the recorded facts about one person, project or thing; with as_of, those valid then.",
    {
      "entity*": text("Name to look up"),
      as_of: text("Date or time: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ"),
      direction: text("outgoing (entity → ?), incoming (? → entity) or both (default)"),
    },
  ),
  kg_add: tool(
    { ...WRITE, light: { place: 6, shown: ["subject", "predicate", "object", "valid_from"] } },
    "Record a fact, subject → predicate → object, and when it is valid. A valid fact is not recorded twice.",
    {
      "subject*": text("Who or what the fact is about"),
      "predicate*": text("The relation, such as works_at"),
      "object*": text("What it is related to"),
      valid_from: text("Valid since: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ"),
      valid_to: text("Valid until, if the fact has ended"),
      source_closet: text("Closet that states it"),
      source_file: text("File that states it"),
      source_drawer_id: text("Drawer that states it"),
    },
  ),
  kg_invalidate: tool(WRITE, "End a fact that is no longer true; it stays in the history.", {
    "subject*": text("Subject of the fact"),
    "predicate*": text("Its relation"),
    "object*": text("Its object"),
    ended: text("When it ended (default today)"),
  }),
  kg_supersede: tool(
    WRITE,
    "Replace a fact's object that changed: an employer, address or version. Use it instead of kg_invalidate and kg_add.",
    {
      "subject*": text("Whose value changes"),
      "predicate*": text("The relation"),
      "old_object*": text("The value so far"),
      "new_object*": text("The value from now on"),
      at: text("When it changed (default now)"),
    },
  ),
  kg_timeline: tool(ANNOUNCED, "List facts in the order they began, of one entity or of all.", {
    entity: text("Only facts about it"),
    ...page("Facts", 100, 100),
  }),
  kg_stats: tool(ANNOUNCED, "Count entities and facts, and list the relations.", {}),
  traverse: tool(
    { ...READ, aliases: { room: "start_room" } },
    "Walk from a room to rooms that share a wing with it, and on from those.",
    {
      "start_room*": text("Room to start from"),
      max_hops: integer("Maximum steps, 1 to 10 (default 2)"),
    },
  ),
  find_tunnels: tool(
    { ...READ, aliases: { wing1: "wing_a", wing2: "wing_b" } },
    "Find rooms that exist in several wings: in two given wings, or in any.",
    {
      wing_a: text("One of the wings"),
      wing_b: text("The other"),
    },
  ),
  graph_stats: tool(READ, "Count rooms, wings, tunnels and their connections.", {}),
  create_tunnel: tool(WRITE, "Link two related rooms of different wings. If the link exists, its label is replaced.", {
    "source_wing*": text("Wing of one room"),
    "source_room*": text("The room"),
    "target_wing*": text("Wing of the other room"),
    "target_room*": text("The other room"),
    label: text("What connects them"),
    source_drawer_id: text("A drawer in the one room"),
    target_drawer_id: text("A drawer in the other"),
  }),
  list_tunnels: tool(READ, "List all links between rooms, or those of one wing.", { wing: WING }),
  delete_tunnel: tool(WRITE, "Remove a link between rooms.", { "tunnel_id*": text("Id of the tunnel") }),
  list_hallways: tool(READ, "List entities of a wing that occur together, strongest pairs first.", {
    wing: WING,
    ...page("Hallways", 100, 500),
  }),
  delete_hallway: tool(WRITE, "Remove a link between entities.", { "hallway_id*": text("Id of the hallway") }),
  follow_tunnels: tool(READ, "List the rooms linked to a room, with the beginning of their drawers.", {
    "wing*": WING,
    "room*": ROOM,
  }),
};

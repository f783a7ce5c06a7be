/** Rows of the tool table: facts, and links between rooms and between entities. */
import { ANNOUNCED, integer, page, READ, ROOM, text, tool, WING, WRITE } from "./row.ts";

export const GRAPH_TOOLS = {
  kg_query: tool(
    { ...ANNOUNCED, light: { place: 5, shown: ["entity", "as_of"] } },
    "What the knowledge graph says of one person, project or thing; with as_of, what held then.",
    {
      "entity*": text("Whom or what to ask about"),
      as_of: text("Moment: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ"),
      direction: text("outgoing (entity → ?), incoming (? → entity) or both (default)"),
    },
  ),
  kg_add: tool(
    { ...WRITE, light: { place: 6, shown: ["subject", "predicate", "object", "valid_from"] } },
    "Record a fact, subject → predicate → object, with the time it holds. A fact that stands already is not recorded twice.",
    {
      "subject*": text("Who or what the fact is about"),
      "predicate*": text("The relation, such as works_at"),
      "object*": text("What it is related to"),
      valid_from: text("Since when: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ"),
      valid_to: text("Until when, of a fact that is over"),
      source_closet: text("Closet that states it"),
      source_file: text("File that states it"),
      source_drawer_id: text("Drawer that states it"),
    },
  ),
  kg_invalidate: tool(WRITE, "End a fact that no longer holds; it stays in the history.", {
    "subject*": text("Subject of the fact"),
    "predicate*": text("Its relation"),
    "object*": text("Its object"),
    ended: text("When it ended (default today)"),
  }),
  kg_supersede: tool(
    WRITE,
    "Replace a fact by its successor at one moment: employer, address, version. Better than kg_invalidate and kg_add.",
    {
      "subject*": text("Whose value changes"),
      "predicate*": text("The relation"),
      "old_object*": text("The value so far"),
      "new_object*": text("The value from now on"),
      at: text("When it changed (default now)"),
    },
  ),
  kg_timeline: tool(ANNOUNCED, "Facts in the order they began, of one entity or of all.", {
    entity: text("Only facts about it"),
    ...page("Facts", 100, 100),
  }),
  kg_stats: tool(ANNOUNCED, "How many entities and facts there are, and which relations.", {}),
  traverse: tool(
    { ...READ, aliases: { room: "start_room" } },
    "Walk from a room to the rooms that share a wing with it, and on from there.",
    {
      "start_room*": text("Room to start from"),
      max_hops: integer("How many steps to take, 1 to 10 (default 2)"),
    },
  ),
  find_tunnels: tool(
    { ...READ, aliases: { wing1: "wing_a", wing2: "wing_b" } },
    "Rooms that several wings have, of two given wings or of any.",
    { wing_a: text("One of the wings"), wing_b: text("The other") },
  ),
  graph_stats: tool(READ, "How rooms, wings and tunnels hang together, in numbers.", {}),
  create_tunnel: tool(
    WRITE,
    "Link two rooms of different wings that belong together. The same two again: the label is replaced.",
    {
      "source_wing*": text("Wing of one room"),
      "source_room*": text("The room"),
      "target_wing*": text("Wing of the other room"),
      "target_room*": text("The other room"),
      label: text("What connects them"),
      source_drawer_id: text("A drawer in the one room"),
      target_drawer_id: text("A drawer in the other"),
    },
  ),
  list_tunnels: tool(READ, "All links between rooms, or those of one wing.", { wing: WING }),
  delete_tunnel: tool(WRITE, "Remove a link between rooms.", { "tunnel_id*": text("Id of the tunnel") }),
  list_hallways: tool(READ, "Entities of a wing that occur together, the strongest pairs first.", {
    wing: WING,
    ...page("Hallways", 100, 500),
  }),
  delete_hallway: tool(WRITE, "Remove a link between entities.", { "hallway_id*": text("Id of the hallway") }),
  follow_tunnels: tool(READ, "Where a room leads: the rooms linked to it, with the beginning of the drawers there.", {
    "wing*": WING,
    "room*": ROOM,
  }),
};

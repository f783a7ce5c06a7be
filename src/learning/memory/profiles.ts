/** Separates Roampal's profiles: each one has its own wing, conversations and lessons. */
import type { Drawer, DrawerFilter, Metadata } from "../../memory/port/drawer.ts";
import type { LedgerTx, WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryIndexes, MemoryReader, MemoryTx } from "../../memory/port/memory.ts";
import type { Conversation, Scored } from "../../memory/port/outcome.ts";
import { badParams } from "../../base/errors.ts";
import { sha256Hex } from "../../memory/text/text.ts";
import { COLLECTIONS } from "./memory.ts";
import { isFiledAsMemory, MEMORY_WING, PROFILE_WING } from "./as-drawer.ts";

/** Key of a named profile in parameters and wings; undefined for `default`. */
export type Profile = string | undefined;

const KEY = /^[a-z0-9_]{1,30}(?:-[0-9a-f]{12})?$/;
const SLUG_MAX = 30;
const HASH_DIGITS = 12;
/** Separator between a profile's key and a conversation's id. */
const MARK = "\u001f";

/** Returns undefined for a name that Roampal refuses. Names with the same slug share a folder in Roampal, but have different keys here. */
export function profileKey(name: string): string | undefined {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "")
    .slice(0, SLUG_MAX);
  if (slug === "" || slug === name) return slug || undefined;
  return `${slug}-${sha256Hex(name).slice(0, HASH_DIGITS)}`;
}

/** Reads the parameter `profile`. Errors: PROTOCOL_BAD_PARAMS. */
export function profileIn({ profile }: Record<string, unknown>): Profile {
  if (profile === undefined || (typeof profile === "string" && KEY.test(profile))) return profile;
  throw badParams("profile must be the key of a profile");
}

export function profilesIn(places: readonly { wing: string }[]): Set<Profile> {
  const profiles = new Set<Profile>();
  for (const { wing } of places) {
    const key = keyOfWing(wing);
    if (wing === MEMORY_WING || key !== undefined) profiles.add(key);
  }
  return profiles;
}

function keyOfWing(wing: string): string | undefined {
  const key = wing.startsWith(PROFILE_WING) ? wing.slice(PROFILE_WING.length) : "";
  return KEY.test(key) ? key : undefined;
}

export function ofDefault<R>(write: (tx: MemoryTx, call: WriteCall) => R): (tx: LedgerTx, call: WriteCall) => R {
  return (tx, call) => write(writerOf(tx, undefined), call);
}

export function ofProfile<R>(write: (tx: MemoryTx, call: WriteCall) => R): (tx: LedgerTx, call: WriteCall) => R {
  return (tx, call) => write(writerOf(tx, profileIn(call.params)), call);
}

type Whole = MemoryIndexes & { reader: MemoryReader };

export function apart<C extends Whole>(context: C, profile: Profile): Omit<C, keyof Whole> & Whole {
  const { reader, lexical, vectors, ...others } = context;
  const { wing } = namesOf(profile);
  const placed = (filter: DrawerFilter): DrawerFilter => ({ ...filter, wing });
  return {
    ...others,
    reader: readerOf(reader, profile),
    lexical: { candidates: (query, filter, limit) => lexical.candidates(query, placed(filter), limit) },
    vectors: {
      around: (vector, filter, limit) => vectors.around(vector, placed(filter), limit),
      similarity: (vector, rows) => vectors.similarity(vector, rows),
    },
  };
}

/** Functions that convert a profile's names to the ledger's names and back. Undefined: the name belongs to another profile. */
type Names = {
  wing: string;
  drawer: (drawer: Drawer) => Drawer | undefined;
  filed: (metadata: Metadata) => Metadata;
  source: (name: string) => string;
  /** Prefix of the ids of the profile's conversations; empty for `default`. */
  talks: string;
  talk: (id: string) => string;
  ownTalk: (key: string) => string | undefined;
  collection: (name: string) => string;
  ownCollection: (name: string) => string;
};

function namesOf(profile: Profile): Names {
  return profile === undefined ? DEFAULT : namedNames(profile, PROFILE_WING + profile);
}

/** Conversions for the profile `default`. It may score any drawer except the memories of other profiles. */
const DEFAULT: Names = {
  wing: MEMORY_WING,
  drawer: (drawer) => (keyOfWing(drawer.wing) !== undefined && isFiledAsMemory(drawer) ? undefined : drawer),
  filed: (metadata) => metadata,
  source: (name) => name,
  talks: "",
  // A client may send an id that looks like a conversation id of a named profile. That id gets a prefix.
  talk: (id) => (id.includes(MARK) ? MARK + id : id),
  ownTalk: (key) => {
    if (key.startsWith(MARK)) return key.slice(MARK.length);
    return key.includes(MARK) ? undefined : key;
  },
  collection: (name) => name,
  ownCollection: (name) => name,
};

function namedNames(key: string, wing: string): Names {
  const [source, talk, collection] = [`${wing} `, key + MARK, `${key}/`];
  return {
    wing,
    drawer: (drawer) => {
      if (drawer.wing !== wing) return undefined;
      const { source_file: name } = drawer.metadata;
      const metadata: Metadata = { ...drawer.metadata, wing: MEMORY_WING };
      if (typeof name === "string") metadata["source_file"] = without(source, name);
      return { ...drawer, wing: MEMORY_WING, metadata };
    },
    filed: (metadata) => {
      const { source_file: name } = metadata;
      const isNamed = typeof name === "string" && name !== "";
      return { ...metadata, wing, ...(isNamed && { source_file: source + name }) };
    },
    source: (name) => source + name,
    talks: talk,
    talk: (id) => talk + id,
    ownTalk: (one) => (one.startsWith(talk) ? one.slice(talk.length) : undefined),
    collection: (name) => collection + name,
    ownCollection: (name) => without(collection, name),
  };
}

function without(start: string, text: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}

function writerOf(tx: LedgerTx, profile: Profile): MemoryTx {
  const names = namesOf(profile);
  return {
    seed: (text) => (profile === undefined ? text : `${profile} ${text}`),
    isTaken: (id) => tx.findDrawer(id) !== undefined,
    findDrawer: (id) => seen(names, tx.findDrawer(id)),
    insertDrawers: (drawers) =>
      tx.insertDrawers(drawers.map((one) => ({ ...one, metadata: names.filed(one.metadata) }))),
    updateDrawer: (id, change) => tx.updateDrawer(id, { ...change, metadata: names.filed(change.metadata) }),
    deleteDrawer: (id) => tx.deleteDrawer(id),
    drawersOfSource: (name) => tx.drawersOfSource(names.source(name)).flatMap((one) => names.drawer(one) ?? []),
    deleteSource: (name) => tx.deleteSource(names.source(name)),
    drawersIn: (wing, room) => tx.drawersIn(wing === MEMORY_WING ? names.wing : wing, room),
    changedBy: (agent, ids) => tx.changedBy(agent, ids),
    lastChangedByMethod: (method, ids, among) => tx.lastChangedByMethod(method, ids, among),
    standings: {
      find: (id) => tx.standings.find(id),
      put: (id, standing, scored) => tx.standings.put(id, standing, scored && filedScore(names, scored)),
      scored: (id) => tx.standings.scored(id).map((one) => ownScore(names, one)),
    },
    conversations: conversationsOf(tx, names),
    get carried() {
      return tx.carried;
    },
  };
}

function conversationsOf({ conversations }: LedgerTx, names: Names): MemoryTx["conversations"] {
  return {
    find: (id) => ownConversation(names, conversations.find(names.talk(id))),
    put: (one) => conversations.put({ ...one, id: names.talk(one.id) }),
    show: (id, turn, drawers) => conversations.show(names.talk(id), turn, drawers),
    showAnew: (id, turn) => conversations.showAnew(names.talk(id), turn),
    shownAt: (id, turn) => conversations.shownAt(names.talk(id), turn),
    asked: (sinceMs) => conversations.asked(sinceMs).flatMap((one) => ownConversation(names, one) ?? []),
    // Drops conversations of all profiles, because the time limit is the same for all.
    dropBefore: (atMs) => conversations.dropBefore(atMs),
  };
}

export function readerOf(reader: MemoryReader, profile: Profile): MemoryReader {
  const names = namesOf(profile);
  return {
    findDrawer: (id) => seen(names, reader.findDrawer(id)),
    drawersByRow: (rows) => reader.drawersByRow(rows).flatMap((one) => names.drawer(one) ?? []),
    listDrawers: (filter, limit, offset) => {
      const { drawers, total } = reader.listDrawers({ ...filter, wing: names.wing }, limit, offset);
      return { drawers: drawers.flatMap((one) => names.drawer(one) ?? []), total };
    },
    places: () =>
      reader.places().flatMap((place) => (place.wing === names.wing ? [{ ...place, wing: MEMORY_WING }] : [])),
    standings: (ids) => reader.standings(ids),
    scored: (id) => reader.scored(id).map((one) => ownScore(names, one)),
    answered: (concepts) =>
      reader
        .answered(concepts, COLLECTIONS.map(names.collection))
        .map((one) => ({ ...one, collection: names.ownCollection(one.collection) })),
    toldOf: (ids) => reader.toldOf(ids),
    toldIn: (context, collection) => reader.toldIn(context, names.collection(collection)),
    conversation: (id) => ownConversation(names, reader.conversation(names.talk(id))),
    conversations: () => reader.conversations().flatMap((key) => names.ownTalk(key) ?? []),
    showings: (id, limit) =>
      reader.showings(id, limit).flatMap((one) => {
        const conversation = names.ownTalk(one.conversation);
        return conversation === undefined ? [] : [{ ...one, conversation }];
      }),
    shownIn: (id) => reader.shownIn(names.talk(id)),
    shownAt: (id, turn) => reader.shownAt(names.talk(id), turn),
    turns: ({ conversation: id }, limit, offset) => {
      const conversation = id === undefined ? undefined : names.talk(id);
      const { turns, total } = reader.turns({ prefix: names.talks, conversation }, limit, offset);
      return { turns: turns.map((one) => ({ ...one, conversation: names.ownTalk(one.conversation) ?? "" })), total };
    },
    helpedByWeek: () => reader.helpedByWeek(names.talks),
    // All profiles share the palace's knowledge graph.
    get graph() {
      return reader.graph;
    },
  };
}

function seen({ drawer: own }: Names, drawer: Drawer | undefined): Drawer | undefined {
  return drawer && own(drawer);
}

function ownConversation(names: Names, conversation: Conversation | undefined): Conversation | undefined {
  const id = conversation && names.ownTalk(conversation.id);
  return conversation === undefined || id === undefined ? undefined : { ...conversation, id };
}

function filedScore({ talk, collection }: Names, scored: Scored): Scored {
  const { conversation, question } = scored;
  return {
    ...scored,
    conversation: conversation === null ? null : talk(conversation),
    question: question && { ...question, collection: collection(question.collection) },
  };
}

function ownScore({ ownTalk, ownCollection }: Names, scored: Scored): Scored {
  const { conversation, question } = scored;
  return {
    ...scored,
    conversation: conversation === null ? null : (ownTalk(conversation) ?? null),
    question: question && { ...question, collection: ownCollection(question.collection) },
  };
}

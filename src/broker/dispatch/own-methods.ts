/** Our own methods besides MCP's, named `noun.verb`. */
import { previewCompressed } from "../../mempalace/aaak/compress.ts";
import { drawerPayload, findLogical } from "../../memory/drawer/logical.ts";
import { newestDrawers, shownDrawer } from "../../memory/drawer/shown.ts";
import { NOTES_READ_MAX, ownStory } from "../../memory/drawer/own-story.ts";
import { essentialStory, NO_PALACE, WAKE_UP_ROWS_MAX } from "../../memory/drawer/wake-up.ts";
import { readAudit, readSelector } from "../../memory/hygiene/hygiene.ts";
import { readPart } from "../../memory/import/merge.ts";
import { askedMark } from "../../learning/turn/repeated-question.ts";
import { apart, profileIn, readerOf } from "../../learning/memory/profiles.ts";
import { carriedEntries, graphPage } from "../../learning/import/roampal-graph.ts";
import { carriedPage } from "../../learning/import/import-memories.ts";
import { listBooks } from "../../learning/memory/books.ts";
import { isMemoryWing, MEMORY_WING } from "../../learning/memory/as-drawer.ts";
import { insightFields, recallFields } from "../../learning/search/recall-fields.ts";
import type { OwnSearches } from "../../learning/search/recent-searches.ts";
import { drawersToShow, owedScore, told, toldFields } from "../../learning/turn/shown-memories.ts";
import { shownTurns } from "../../learning/turn/shown-turns.ts";
import { type Beginning, type Begun, scoredIn } from "../../learning/turn/turn.ts";
import { memoryStats, why } from "../../learning/scoring/why.ts";
import { wingsNamed } from "../../memory/search/filter-names.ts";
import { searchTool } from "../../memory/search/search-tool.ts";
import { sourceList } from "../../memory/source/source-list.ts";
import { redact as mask, redactAnswer } from "../../memory/text/redact.ts";
import type { WriteMethod } from "../tools/writes.ts";
import { withAdoption } from "../../memory/tools/reads.ts";
import type { LedgerReader } from "../../memory/port/ledger.ts";
import type { MemoryReader } from "../../memory/port/memory.ts";
import { badParams, PalaceError } from "../../base/errors.ts";
import { REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import { type MethodName, type Role, ROLES, type SearchMode } from "../../protocol/spec.ts";
import { readJobRequest } from "../palace/maintenance.ts";
import { peerFields } from "../peer.ts";
import { filesFor } from "../file-access.ts";
import {
  type Call,
  type Handler,
  inTurn,
  type MethodsDependencies,
  type OpenPalace,
  palaceAfterWrites,
} from "./call.ts";
import { submit } from "./dispatch.ts";
import { statsOf } from "./stats.ts";

/** Maximum number of wings that a client may name for its project. */
const WINGS_MAX = 20;

/** Latest time that a `Date` can have, ms since 1970. */
const MOMENT_MAX_MS = 8.64e15;

export const OWN_METHODS: Readonly<Record<MethodName, Handler>> = {
  "palace.status": ({ status }) => status(),
  "palace.stats": read(({ reads }, { params }, { metrics, status }) => {
    const { sinceMs } = params;
    if (sinceMs !== undefined && !(Number.isSafeInteger(sinceMs) && Math.abs(Number(sinceMs)) <= MOMENT_MAX_MS))
      throw badParams("sinceMs must be a moment in ms");
    return statsOf(metrics, reads.reader, status().startedAtMs, sinceMs === undefined ? null : Number(sinceMs));
  }),
  "palace.health": async ({ ready }) => (await ready()).maintenance.lookThrough(),
  "palace.wakeUp": read(({ reads }, { params }, { redact, metrics }) => {
    const { reader, adopting, isFounded } = reads;
    if (!isFounded()) return { story: adopting?.() ?? NO_PALACE };
    const answered = (story: string): unknown => {
      metrics.usage.countTokens("tokensStart", story);
      return redactAnswer({ story }, redact);
    };
    const wing = optionalString(params, "wing");
    // Masks each drawer before the text is cut, because no pattern recognises one half of a secret.
    const clean = (text: string): string => mask(text, redact).text;
    if (params["project"] !== undefined)
      return answered(storyOfProject(reader, wingsOf(params["project"]), wing, clean));
    // Leaves out memories, unless their wing was named: the learning code chooses which of them an agent sees.
    const drawers = reader
      .newestDrawers(wing, WAKE_UP_ROWS_MAX)
      .filter((one) => one.wing === wing || !isMemoryWing(one.wing));
    return answered(essentialStory(drawers, clean));
  }),
  "source.list": read(({ reads }, { params }) => sourceList(reads.reader, stringOf(params, "wing"), params)),
  "source.replace": write("source.replace"),
  "source.part": write("source.part"),
  "source.remove": write("source.remove"),
  "conversation.replace": write("conversation.replace"),
  "message.add": write("message.add"),
  "closet.sources": read(({ reads }, { params }) => ({
    sources: reads.reader.closets.minedSources(optionalString(params, "wing")),
  })),
  "closet.rebuild": write("closet.rebuild"),
  "closet.compressPreview": read(({ reads }, { params }, { redact }) =>
    redactAnswer(previewCompressed(reads.reader, params), redact),
  ),
  "closet.compress": write("closet.compress"),
  // Uses this machine's settings for thresholds that the miner does not send.
  "link.rebuild": async (dependencies, call) =>
    (await submit(dependencies, "link.rebuild", unwrapped(call), call, dependencies.linkRules())).value,
  "drawer.search": read(async ({ reads }, { params, peer }, { redact, openedRoots, metrics }) => {
    stringOf(params, "query");
    const seen = { ...reads, files: filesFor(peer, reads.files, openedRoots), project: peer.project ?? [] };
    const answer = await searchTool(seen, params, searchMode(params["mode"]));
    // Does not count the page's searches, because the page also searches by itself, for drawers that are similar to a shown drawer.
    if (peer.door !== "ui") metrics.usage.countSearch(answer);
    return redactAnswer(withAdoption(reads, answer), redact);
  }),
  "drawer.show": read(({ reads }, { params }, { redact }) =>
    redactAnswer(shownDrawer(reads.reader, stringOf(params, "id")), redact),
  ),
  "drawer.places": read(({ reads }) => ({ places: reads.reader.wholePlaces() })),
  "drawer.list": read(({ reads }, { params }, { redact }) => {
    const [wing, room] = [optionalString(params, "wing"), optionalString(params, "room")];
    const place = { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
    return redactAnswer(newestDrawers(reads.reader, place, params), redact);
  }),
  "drawer.reveal": read(({ reads }, { peer, params, requestId }, { log }) => {
    const id = stringOf(params, "id");
    const drawer = findLogical(reads.reader, id);
    log.info("drawer revealed", { requestId, id, found: drawer !== undefined, ...peerFields(peer) });
    return drawer === undefined ? { found: false } : { found: true, drawer: drawerPayload(drawer) };
  }),
  "job.start": async ({ ready }, call) => {
    const request = readJobRequest(unwrapped(call), call.peer);
    const { jobs, maintenance } = await ready();
    return jobs.start(request.kind, request, () => maintenance.begin(request));
  },
  "job.list": async ({ ready }) => ({ jobs: await (await ready()).jobs.list() }),
  "backup.list": async ({ ready }) => (await ready()).maintenance.backups(),
  "job.cancel": async ({ ready }, { params }) => (await ready()).jobs.cancel(stringOf(params, "id")),
  "memory.forgetPreview": read(({ hygiene }, { params }) => hygiene.previewForget(readSelector(params).selector)),
  // Passes the selector outside the call's parameters, because the journal must not contain a text to forget.
  "memory.forget": async (dependencies, call) => {
    const { journalled, selector } = readSelector(call.params);
    const { value } = await submit(dependencies, "memory.forget", journalled, call, selector);
    (await palaceAfterWrites(dependencies, call)).reads.searches.clear();
    return value;
  },
  "memory.erasure": read(({ hygiene }, { params }) => {
    const waitMs = typeof params["waitMs"] === "number" ? params["waitMs"] : 0;
    return hygiene.erased(Math.min(waitMs, REQUEST_TIMEOUT_MS / 2));
  }),
  "memory.undoPreview": read(({ hygiene }, { params }) => hygiene.previewUndo(params)),
  "memory.undo": write("memory.undo"),
  "memory.audit": read(({ hygiene }, { params }, { redact }) => redactAnswer(hygiene.audit(readAudit(params)), redact)),
  "memory.importPreview": read(async ({ hygiene }, call) => ({
    ...(await hygiene.previewImport(readPart(unwrapped(call)).part)),
    importer: call.peer.agent,
  })),
  "memory.import": async (dependencies, call) => {
    const { part, journalled } = readPart(unwrapped(call));
    return (await submit(dependencies, "memory.import", journalled, call, part)).value;
  },
  // The journal records this write's arguments and answer, so both must not contain the user's words or a memory.
  "turn.begin": async (dependencies, call) => {
    const { params } = call;
    const { redact } = dependencies;
    const [conversation, prompt] = [stringOf(params, "conversation"), stringOf(params, "prompt")];
    const isCompacted = params["isCompacted"] === true;
    const isFresh = isCompacted || params["isFresh"] === true;
    const asked = { conversation, prompt, project: optionalString(params, "project"), isFresh, isCompacted };
    const clean = (text: string): string => mask(text, redact).text;
    const startedAtMs = performance.now();
    const { reads: whole } = await palaceAfterWrites(dependencies, call);
    const profile = profileIn(params);
    const reads = apart(whole, profile);
    const { drawers, ...found } = await drawersToShow(reads, asked, clean, Date.now());
    // Returns no texts if the agent no longer waits for them, so that these memories do not count as shown.
    const { withinMs } = params;
    if (typeof withinMs === "number" && performance.now() - startedAtMs > withinMs)
      return { context: "", scoring: "", plainScoring: "" };
    const named = { conversation, ...(profile !== undefined && { profile }) };
    const beginning: Beginning = { drawers, mark: askedMark(prompt), isFresh };
    const { value, replayed } = await submit(dependencies, "turn.begin", named, call, beginning);
    const [begun, nowMs] = [value as Begun, Date.now()];
    const fields = params["isDetailed"] === true ? { fields: toldFields(reads, begun, prompt, clean, nowMs) } : {};
    const texts = told(reads, begun, { prompt, ...found }, clean, nowMs);
    const { usage } = dependencies.metrics;
    if (!replayed) {
      usage.countTokens("tokensPrompt", texts.context, texts.scoring);
      usage.add("memoriesShown", begun.shown.length);
    }
    return redactAnswer({ ...texts, ...fields }, redact);
  },
  "turn.end": write("turn.end"),
  "turn.list": read(async ({ reads }, { params }, { redact }) => {
    optionalString(params, "conversation");
    const clean = (text: string): string => mask(text, redact).text;
    return redactAnswer(await shownTurns(readerIn(reads, params), params, clean), redact);
  }),
  "turn.scored": read(({ reads }, { params }) => scoredIn(readerIn(reads, params), stringOf(params, "conversation"))),
  "turn.owed": read(({ reads }, { params }, { redact }) => {
    const asked = { conversation: stringOf(params, "conversation"), reply: optionalString(params, "reply") ?? "" };
    // The answer is sent to an outside language model (the judge), so secrets are always masked.
    const mode = redact === "off" ? "recall" : redact;
    return redactAnswer(
      owedScore({ ...reads, reader: readerIn(reads, params) }, asked, (text) => mask(text, mode).text),
      mode,
    );
  }),
  "turn.judge": write("turn.judge"),
  "book.ingest": write("book.ingest"),
  "book.remove": write("book.remove"),
  "book.list": read(({ reads }, { params }) => listBooks(readerIn(reads, params))),
  "fact.add": write("fact.add"),
  "fact.update": write("fact.update"),
  "fact.archive": write("fact.archive"),
  "outcome.record": write("outcome.record"),
  "outcome.score": write("outcome.score"),
  "outcome.search": read(async ({ reads }, { params, peer }, { redact }) =>
    redactAnswer({ memories: await recallFields(forAgent(reads, peer, params), params, Date.now()) }, redact),
  ),
  "outcome.insights": read(async ({ reads }, { params, peer }, { redact }) =>
    redactAnswer(await insightFields(forAgent(reads, peer, params), stringOf(params, "query"), Date.now()), redact),
  ),
  "outcome.rewrite": write("outcome.rewrite"),
  "outcome.stats": read(({ reads }, { params }) => memoryStats(readerIn(reads, params))),
  "outcome.why": read(({ reads }, { params }, { redact }) =>
    redactAnswer(why(readerIn(reads, params), stringOf(params, "id"), Date.now()), redact),
  ),
  "outcome.import": write("outcome.import"),
  "outcome.export": read(({ reads }, { params }) => carriedPage(readerIn(reads, params), params)),
  // The journal does not contain the entries' words.
  "outcome.importGraph": async (dependencies, call) => {
    const { entries, journalled } = carriedEntries(call.params);
    return (await submit(dependencies, "outcome.importGraph", journalled, call, entries)).value;
  },
  "outcome.exportGraph": read(({ reads }, { params }) => graphPage(reads.reader, stringOf(params, "after"))),
  "ui.link": ({ pageLink }, { peer, params }) => pageLink(peer, roleIn(params)),
  "token.list": ({ ownFiles }, { peer }) => ownFiles.tokens(peer),
  "token.revoke": ({ ownFiles }, { peer, params }) => ownFiles.revoke(peer, stringOf(params, "name")),
  "spool.list": ({ ownFiles, redact }, { peer }) => redactAnswer(ownFiles.spool(peer), redact),
  "spool.sendAgain": ({ ownFiles }, { peer, params }) => ownFiles.sendAgain(peer, stringOf(params, "name")),
  "broker.stop": ({ stop }) => {
    stop();
    return { stopping: true };
  },
};

function read(answer: (palace: OpenPalace, call: Call, dependencies: MethodsDependencies) => unknown): Handler {
  return (dependencies, call) =>
    inTurn(dependencies, call, call.turns.palace, (palace) => answer(palace, call, dependencies));
}

function write(method: WriteMethod): Handler {
  return async (dependencies, call) => (await submit(dependencies, method, unwrapped(call), call)).value;
}

function forAgent(
  reads: OpenPalace["reads"],
  { agent }: Call["peer"],
  params: Call["params"],
): ReturnType<typeof apart<OpenPalace["reads"]>> & { own: OwnSearches } {
  return { ...apart(reads, profileIn(params)), own: reads.searches.of(agent) };
}

function readerIn({ reader }: OpenPalace["reads"], params: Call["params"]): MemoryReader {
  return readerOf(reader, profileIn(params));
}

/** Returns the wake-up text for a project. With `wing`, it has only notes of that wing. */
function storyOfProject(
  reader: LedgerReader,
  project: readonly string[],
  wing: string | undefined,
  clean: (text: string) => string,
): string {
  const wings = [...new Set(reader.places().map((place) => place.wing))];
  const here = wing === undefined ? wingsNamed(project, wings).filter((one) => !isMemoryWing(one)) : [wing];
  const memories = [MEMORY_WING, ...wings.filter(isMemoryWing)];
  const others = wing === undefined ? reader.newestNotes([...here, ...memories], true, NOTES_READ_MAX) : [];
  return ownStory({ project: here.length === 0 ? [] : reader.newestNotes(here, false, NOTES_READ_MAX), others }, clean);
}

function wingsOf(value: unknown): string[] {
  if (Array.isArray(value) && value.length <= WINGS_MAX && value.every((one) => typeof one === "string")) return value;
  throw badParams("project must be a list of wings");
}

/** Returns the parameters without MCP's additions (`_meta`). */
function unwrapped({ params: { _meta, ...params } }: Call): Record<string, unknown> {
  return params;
}

function optionalString(params: Record<string, unknown>, key: string): string | undefined {
  return params[key] === undefined ? undefined : stringOf(params, key);
}

function stringOf(params: Record<string, unknown>, key: string): string {
  const value = params[key];
  if (typeof value === "string") return value;
  throw badParams(`${key} must be a string`);
}

function roleIn({ role }: Call["params"]): Role | undefined {
  const found = ROLES.find((one) => one === role);
  if (role === undefined || found !== undefined) return found;
  throw new PalaceError("PROTOCOL_BAD_PARAMS", `role must be one of ${ROLES.join(", ")}`, "leave it out for your own");
}

function searchMode(value: unknown): SearchMode {
  const mode = value ?? "auto";
  if (mode === "auto" || mode === "lexical" || mode === "vector" || mode === "hybrid") return mode;
  throw new PalaceError(
    "PROTOCOL_BAD_PARAMS",
    "mode must be one of auto, lexical, vector, hybrid",
    "leave it out for auto",
  );
}

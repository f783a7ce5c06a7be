/** Tables of methods: MCP's as upstream answers them (palace.md 2.2–2.4), and our own (own-methods.ts). */
import { isRecord } from "../../base/parse-json.ts";
import { cut } from "../../base/shorten.ts";
import { VERSION } from "../../base/version.ts";
import { introduction } from "../../protocol/introduction.ts";
import { offer, OFFERED } from "../../protocol/offers.ts";
import { rememberPrompt, wakeUpPrompt } from "../../protocol/prompts.ts";
import { drawerIdIn, WAKE_UP_URI } from "../../protocol/resources.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";
import { RPC } from "../../protocol/spec.ts";
import { toolsOf } from "../../protocol/tools/profile.ts";
import { negotiateMcpVersion } from "../../protocol/version.ts";
import type { Dispatch } from "../engine.ts";
import { nameAfter } from "../peer.ts";
import type { Call, Handler, MethodsDependencies } from "./call.ts";
import { callTool, dispatchOver } from "./dispatch.ts";
import { OWN_METHODS } from "./own-methods.ts";

const MCP: Readonly<Record<string, Handler>> = {
  initialize: (_dependencies, { peer, params }) => {
    nameAfter(peer, params["clientInfo"]);
    peer.revision = negotiateMcpVersion(params["protocolVersion"]);
    return introduction(params["protocolVersion"], VERSION);
  },
  ping: () => ({}),
  "tools/list": (_dependencies, { peer }) => ({ tools: toolsOf(peer.tools, peer.revision) }),
  "tools/call": callTool,
};

const usual = new Map<string, Handler>([...Object.entries(MCP), ...Object.entries(OWN_METHODS)]);
/** Methods of MCP 2026-07-28. This revision has no handshake, but has resources and prompts. */
const modern = new Map<string, Handler>([
  ...OFFERED.map((method): [string, Handler] => [method, (_, { peer }) => offer(method, peer.tools)]),
  ["tools/call", callTool],
  ["resources/read", readResource],
  ["prompts/get", getPrompt],
]);

export function createDispatch(dependencies: MethodsDependencies): Dispatch {
  return dispatchOver({ usual, modern }, dependencies);
}

async function readResource(dependencies: MethodsDependencies, call: Call): Promise<unknown> {
  const { uri } = call.params;
  if (typeof uri !== "string") throw badParams("'uri' is required for resources/read");
  const text = uri === WAKE_UP_URI ? await storyOf(dependencies, call, {}) : await drawerAt(dependencies, call, uri);
  if (text === undefined)
    throw new RpcFailure({ code: RPC.INVALID_PARAMS, message: `Resource not found: ${uri}`, data: { uri } });
  return { contents: [{ uri, mimeType: "text/plain", text }] };
}

async function drawerAt(dependencies: MethodsDependencies, call: Call, uri: string): Promise<string | undefined> {
  const id = drawerIdIn(uri);
  if (id === undefined) return undefined;
  const shown = (await OWN_METHODS["drawer.show"](dependencies, { ...call, params: { id } })) as
    | { found: true; drawer: { content: string } }
    | { found: false };
  return shown.found ? shown.drawer.content : undefined;
}

async function storyOf(dependencies: MethodsDependencies, call: Call, params: Call["params"]): Promise<string> {
  const { story } = (await OWN_METHODS["palace.wakeUp"](dependencies, { ...call, params })) as { story: string };
  return story;
}

async function getPrompt(dependencies: MethodsDependencies, call: Call): Promise<unknown> {
  const { name } = call.params;
  const given = isRecord(call.params["arguments"]) ? call.params["arguments"] : {};
  const textOf = (key: string): string | undefined => {
    const value = given[key];
    if (value === undefined || typeof value === "string") return value;
    throw badParams(`'${key}' must be a string`);
  };
  if (name === "remember") return rememberPrompt(textOf("what"), call.peer.tools);
  if (name !== "wake-up") throw badParams(`no prompt is named ${JSON.stringify(cut(String(name)))}`);
  const wing = textOf("wing");
  return wakeUpPrompt(await storyOf(dependencies, call, wing === undefined || wing === "" ? {} : { wing }));
}

function badParams(why: string): RpcFailure {
  return new RpcFailure({ code: RPC.INVALID_PARAMS, message: `Invalid params: ${why}` });
}

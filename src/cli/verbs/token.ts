/** `palace bridge token` manages the tokens for the TCP door in the palace's file, so it needs no broker. */
import { addToken, readTokens, revokeToken } from "../../broker/door/tokens.ts";
import { wrongUsage } from "../../base/errors.ts";
import { brokerBox } from "../docker/owner.ts";
import { isServedByStack } from "../docker/served-by-stack.ts";
import { ROLES } from "../../protocol/spec.ts";
import type { Output } from "../terminal/output.ts";
import { defineVerb, options, readChoice, readCount, usageError } from "../define-verb.ts";

const DAY_MS = 86_400_000;
const DAYS_MAX = 36_500;

const USAGE = `palace bridge token add NAME [--role agent|reader|admin] [--days N]
palace bridge token list
palace bridge token revoke NAME

Clients over TCP (MEMPALACE_LISTEN) need a token: a container sets it as MEMPALACE_TOKEN, a standard MCP client sends
it as \`Authorization: Bearer\`. It is shown once, by add, and stored as a hash. Revoking ends the connections made with it.

  --role   agent reads and writes (default), reader only reads, admin may stop the broker too
  --days   the token expires after N days`;

export const verb = defineVerb({
  usage: USAGE,
  options: options("role= days="),
  args: [1, 2],
  place: ({ args }) => (args[0] === "add" ? "anew" : "there"),
  run: async ({ values, args, config, out }) => {
    if (config.endpoint !== undefined)
      throw wrongUsage(
        `tokens are on the broker's machine, and MEMPALACE_BROKER names another one: ${config.endpoint}`,
        "run this on the broker's machine",
      );
    const box = brokerBox(config);
    const container = box === undefined ? "docker compose exec broker" : `docker exec ${box.container}`;
    if (box !== undefined || isServedByStack(config))
      throw wrongUsage(
        "tokens are kept in the broker's container",
        `on the host: ${container} palace bridge token ${args.join(" ")}`,
      );
    const file = config.paths.tokensFile;
    const [action = "", name] = args;
    if (action === "list" && name === undefined) list(file, out);
    else if (action === "add" && name !== undefined) add(file, name, values, out);
    else if (action === "revoke" && name !== undefined) revoke(file, name, out);
    else if (action === "add" || action === "revoke")
      throw wrongUsage("the name of the token is missing", `palace bridge token ${action} NAME`);
    else throw usageError(USAGE, `palace bridge token ${args.join(" ")} is not a command`);
    return 0;
  },
});

function add(file: string, name: string, values: { role?: string; days?: string }, out: Output): void {
  const role = readChoice(values.role, "role", ROLES, "agent");
  const days = values.days === undefined ? undefined : readCount(values.days, "days", 1, 1, DAYS_MAX);
  const { record, token } = addToken(file, {
    name,
    role,
    expiresAtMs: days === undefined ? null : Date.now() + days * DAY_MS,
  });
  if (out.isJson) return void out.document({ name, role, expiresAtMs: record.expiresAtMs, token });
  out.text(token);
  out.notice(`This is the only time it is shown. Where the client runs: export MEMPALACE_TOKEN=… (role ${role})`);
}

function list(file: string, out: Output): void {
  const tokens = readTokens(file).map(({ name, role, createdAtMs, expiresAtMs }) => ({
    name,
    role,
    createdAtMs,
    expiresAtMs,
  }));
  if (out.isJson) return void out.document({ tokens });
  if (tokens.length === 0) return out.text(out.spelled("No tokens. `palace bridge token add NAME` makes one."));
  out.table(
    tokens.map(({ name, role, createdAtMs, expiresAtMs }) => [name, role, day(createdAtMs), expiry(expiresAtMs)]),
  );
}

function revoke(file: string, name: string, out: Output): void {
  if (!revokeToken(file, name)) throw wrongUsage(`there is no token ${name}`, "palace bridge token list");
  out.answer({ revoked: name }, `${name} is revoked; its connections end within a second.`);
}

function day(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function expiry(atMs: number | null): string {
  if (atMs === null) return "does not expire";
  return atMs <= Date.now() ? "expired" : `until ${day(atMs)}`;
}

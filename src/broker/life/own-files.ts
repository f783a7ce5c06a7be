/** Files of this machine that the owner manages on the page: tokens of the TCP door, and writes in the spool. */
import { basename } from "node:path";
import { denied, PalaceError } from "../../base/errors.ts";
import type { Paths } from "../../config/paths.ts";
import type { TokenReport } from "../../protocol/status.ts";
import { deliver } from "../../wire/client/send-spooled.ts";
import { Spool } from "../../wire/client/spool.ts";
import { readTokens, revokeToken } from "../door/tokens.ts";
import type { Dispatch, OwnFiles } from "../engine.ts";
import type { Peer } from "../peer.ts";

/** Maximum number of waiting writes, and of refused writes, in one answer. */
const LISTED_MAX = 100;

type Parts = { paths: Paths; usedAtMs: (id: string) => number | null; dispatch: Dispatch };

export function ownFiles({ paths, usedAtMs, dispatch }: Parts): OwnFiles {
  const file = paths.tokensFile;
  return {
    tokens(peer) {
      assertOwner(peer, "palace bridge token list");
      return { tokens: readTokens(file).map((record) => tokenReport(record, usedAtMs(record.id))) };
    },
    revoke(peer, name) {
      assertOwner(peer, `palace bridge token revoke ${name}`);
      if (revokeToken(file, name)) return { revoked: name };
      throw new PalaceError("PROTOCOL_BAD_PARAMS", `there is no token ${name}`, "palace bridge token list");
    },
    spool(peer) {
      assertOwner(peer, "palace status spool");
      return new Spool(paths.spoolDir).report(LISTED_MAX);
    },
    async sendAgain(peer, name) {
      assertOwner(peer, "palace status spool replay");
      const { token: _page, ...owner } = peer;
      return sendAgain(new Spool(paths.spoolDir), name, (message, agent) => dispatch({ ...owner, agent }, message, 0));
    },
  };
}

function tokenReport(
  { name, role, createdAtMs, expiresAtMs }: ReturnType<typeof readTokens>[number],
  usedAtMs: number | null,
): TokenReport {
  return { name, role, createdAtMs, expiresAtMs, usedAtMs };
}

/** Sends a refused write and all waiting writes again. Errors: PROTOCOL_BAD_PARAMS. */
async function sendAgain(
  spool: Spool,
  name: string,
  ask: Parameters<typeof deliver>[1],
): Promise<{ delivered: number; refused: number; waiting: number }> {
  const write = basename(name) === name ? spool.readRefused(name) : undefined;
  if (write === undefined)
    throw new PalaceError("PROTOCOL_BAD_PARAMS", `no refused write has the name ${name}`, "palace status spool");
  spool.sendAgain(name, write);
  const before = spool.report(0).totals;
  await deliver(spool, ask);
  const { waiting, refused: refusedNow } = spool.report(0).totals;
  const refused = Math.max(refusedNow - before.refused, 0);
  return { delivered: Math.max(before.waiting - waiting - refused, 0), refused, waiting };
}

/** Refuses peers of other machines. An admin's page is allowed, because only the owner's socket opens it. Errors: BROKER_DENIED. */
function assertOwner({ door }: Peer, command: string): void {
  if (door === "unix" || door === "ui") return;
  const why = "only the owner may do that, on the broker's machine";
  throw denied(why, `there: ${command}`);
}

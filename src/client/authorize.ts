/**
 * How a client comes in: on a UNIX socket the kernel vouches for it, over TCP it proves its token, and the broker proves that
 * it knows it too, before anything of the palace is said. Whoever squats on the port learns nothing that opens a door.
 */
import type { Socket } from "node:net";
import { PalaceError } from "../protocol/errors.ts";
import { type Endpoint, formatEndpoint } from "../transport/endpoint.ts";
import { ask } from "../transport/http-client.ts";

export type Authorization = {
  /** Go with the one request. */
  headers: Record<string, string>;
  /** Looks at the answer's headers. Errors: BROKER_DENIED when the other side does not know the token. */
  verify: (answered: ReadonlyMap<string, string>) => void;
};

/**
 * For one request to `path` over a fresh connection. Errors: BROKER_DENIED without a token, CONFIG_BAD_VALUE for a text that
 * is none.
 */
export async function authorize(
  socket: Socket,
  endpoint: Endpoint,
  path: string,
  readToken: () => string | undefined,
): Promise<Authorization> {
  if (endpoint.kind === "unix") return { headers: {}, verify: () => {} };
  const Host = formatEndpoint(endpoint).slice("http://".length);
  const token = readToken();
  // Not even asked: whoever lets us in without a token is no broker of ours, and would be told everything.
  if (token === undefined) {
    socket.destroy();
    throw new PalaceError(
      "BROKER_DENIED",
      `a broker at ${formatEndpoint(endpoint)} wants a token, and MEMPALACE_TOKEN is not set`,
      "on the broker's machine: palace token add NAME; here: export MEMPALACE_TOKEN=…",
    );
  }
  // Only here: node:crypto is a tenth of a shim's start.
  const proof = await import("../protocol/proof.ts");
  const id = proof.tokenId(token);
  if (id === undefined)
    throw new PalaceError("CONFIG_BAD_VALUE", "MEMPALACE_TOKEN is no token", "copy what `palace token add` printed");
  const clientNonce = proof.makeNonce();
  const serverNonce = await ask(socket, proof.AUTH_PATH, proof.CHALLENGE_HEADER, { Host });
  const context = { path, id, clientNonce, serverNonce };
  const expected = proof.serverProof(proof.keysOf(token), context);
  return {
    headers: { Host, Authorization: proof.proofHeader(token, context) },
    verify(answered) {
      const given = answered.get(proof.PROOF_HEADER) ?? "";
      if (proof.isEqual(Buffer.from(given), Buffer.from(expected))) return;
      socket.destroy();
      throw new PalaceError(
        "BROKER_DENIED",
        `who answers at ${formatEndpoint(endpoint)} does not know this token: it is not our broker`,
        "look at who listens there; nothing was sent to it",
      );
    },
  };
}

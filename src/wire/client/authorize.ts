/** Authorises a TCP connection: client and broker prove to each other that they know the token. A foreign program learns nothing. */
import type { Socket } from "node:net";
import { badValue, denied } from "../../base/errors.ts";
import { type Endpoint, formatEndpoint } from "../transport/endpoint.ts";
import { ask } from "../transport/http-client.ts";

/** Client's proof for one request (`headers`), and check of the broker's proof (`verify`). */
export type Authorization = {
  headers: Record<string, string>;
  /** Checks the response headers. Errors: BROKER_DENIED if the server does not know the token. */
  verify: (answered: ReadonlyMap<string, string>) => void;
};

/** Prepares one request on a new connection. Errors: BROKER_DENIED without a token, CONFIG_BAD_VALUE for a bad token, errors of `ask`. */
export async function authorize(
  socket: Socket,
  endpoint: Endpoint,
  path: string,
  readToken: () => string | undefined,
): Promise<Authorization> {
  if (endpoint.kind === "unix") return { headers: {}, verify: () => {} };
  const Host = formatEndpoint(endpoint).slice("http://".length);
  const token = readToken();
  // Sends nothing without a token: a broker would refuse the request, and only a foreign program would accept it.
  if (token === undefined)
    throw denied(
      `a broker at ${formatEndpoint(endpoint)} wants a token, and MEMPALACE_TOKEN is not set`,
      "on the broker's machine: palace bridge token add NAME; here: export MEMPALACE_TOKEN=…",
    );
  // Imported lazily, because node:crypto takes a tenth of a shim's start.
  const proof = await import("../../protocol/proof.ts");
  const id = proof.tokenId(token);
  if (id === undefined) throw badValue("MEMPALACE_TOKEN is not a token", "copy what `palace bridge token add` printed");
  const clientNonce = proof.makeNonce();
  const serverNonce = await ask(socket, proof.AUTH_PATH, proof.CHALLENGE_HEADER, { Host });
  const context = { path, id, clientNonce, serverNonce };
  const expected = proof.serverProof(proof.keysOf(token), context);
  return {
    headers: { Host, Authorization: proof.proofHeader(token, context) },
    verify(answered) {
      const given = answered.get(proof.PROOF_HEADER) ?? "";
      if (proof.isEqual(Buffer.from(given), Buffer.from(expected))) return;
      throw denied(
        `the program at ${formatEndpoint(endpoint)} does not know this token: it is not our broker`,
        "find out which program listens there; nothing was sent to it",
      );
    },
  };
}

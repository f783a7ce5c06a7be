/** Runs a proxy that decrypts TLS with its own CA, as companies' proxies do. It trusts the CAs that npm and Node trust on this machine. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import { askNpm } from "./fresh-clone.ts";
import { createSecureContext, getCACertificates, type SecureContext, TLSSocket } from "node:tls";

export type InspectingProxy = AsyncDisposable & {
  /** PEM file with the certificate of the proxy's CA. */
  readonly caFile: string;
  /** TCP port of the proxy, or 0 if it listens on a socket. */
  readonly port: number;
  /** HOST:PORT of each requested connection, in order, including refused ones. */
  readonly connections: string[];
  /** Decrypted requests, each as `GET HOST/PATH`. */
  readonly requests: string[];
};

export type InspectingProxyOptions = {
  /** Empty folder for the proxy's keys. */
  folder: string;
  /** Path of a socket, or an address of this machine, at which the proxy listens. */
  listen: { path: string } | { host: string };
  allows: (host: string) => boolean;
};

const openssl = (...args: string[]): string => execFileSync("openssl", args, { encoding: "utf8", stdio: "pipe" });

export async function startInspectingProxy(options: InspectingProxyOptions): Promise<InspectingProxy> {
  const { folder, listen, allows } = options;
  const authority = makeAuthority(folder);
  const [connections, requests]: [string[], string[]] = [[], []];
  const sockets = new Set<Socket>();
  const agent = upstreamAgent();
  const inner = createServer((request, response) => {
    requests.push(`${request.method} ${request.headers.host}${request.url}`);
    forward(request, response, agent);
  });
  const outer = createServer((_request, response) => void response.writeHead(405).end("only CONNECT\n"));
  outer.on("connection", (socket: Socket) => void sockets.add(socket.on("close", () => sockets.delete(socket))));
  outer.on("connect", (request, socket: Socket) => {
    const [host = ""] = (request.url ?? "").split(":");
    connections.push(request.url ?? "");
    socket.on("error", () => socket.destroy());
    if (!allows(host)) return void socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    const inspected = new TLSSocket(socket, { isServer: true, secureContext: authority.contextFor(host) });
    inspected.on("error", () => socket.destroy());
    inner.emit("connection", inspected);
  });
  outer.listen("path" in listen ? listen : { ...listen, port: 0 });
  await once(outer, "listening");
  const address = outer.address();
  return {
    caFile: authority.caFile,
    port: typeof address === "object" && address !== null ? address.port : 0,
    connections,
    requests,
    async [Symbol.asyncDispose]() {
      if (!outer.listening) return;
      outer.close();
      for (const socket of sockets) socket.destroy();
      agent.destroy();
      await once(outer, "close");
    },
  };
}

/** Makes a CA that issues a certificate for each host on demand. */
function makeAuthority(folder: string): { caFile: string; contextFor: (host: string) => SecureContext } {
  mkdirSync(folder, { recursive: true });
  const [caKey, caFile, key] = ["ca.key", "ca.pem", "host.key"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const file of [caKey, key])
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", file);
  const subject = ["-subj", "/CN=an inspecting proxy", "-addext", "keyUsage=critical,keyCertSign"];
  openssl("req", "-x509", "-new", "-key", caKey, "-days", "2", "-out", caFile, ...subject);
  const contexts = new Map<string, SecureContext>();
  const contextFor = (host: string): SecureContext => {
    const [requestFile, extensions] = [join(folder, "host.csr"), join(folder, "host.ext")];
    openssl("req", "-new", "-key", key, "-subj", "/CN=host", "-out", requestFile);
    writeFileSync(extensions, `subjectAltName=DNS:${host}\n`);
    const signed = ["-CA", caFile, "-CAkey", caKey, "-CAcreateserial", "-days", "2", "-extfile", extensions];
    const certificate = openssl("x509", "-req", "-in", requestFile, ...signed);
    return createSecureContext({ key: readFileSync(key), cert: certificate });
  };
  return {
    caFile,
    contextFor: (host) => {
      const known = contexts.get(host) ?? contextFor(host);
      contexts.set(host, known);
      return known;
    },
  };
}

function upstreamAgent(): Agent {
  const cafile = askNpm("cafile");
  const npms = cafile === "null" || cafile === "" ? [] : [readFileSync(cafile, "utf8")];
  return new Agent({ keepAlive: true, maxSockets: 32, proxyEnv: process.env, ca: [...getCACertificates(), ...npms] });
}

function forward(request: IncomingMessage, response: ServerResponse, agent: Agent): void {
  const { method, headers, url } = request;
  const [hostname = "", port = "443"] = (headers.host ?? "").split(":");
  const asked = tlsRequest({ hostname, port, method, path: url, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  asked.on("error", () => response.destroy());
  response.on("close", () => asked.destroy());
  request.pipe(asked);
}

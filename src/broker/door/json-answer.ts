/** Answers an HTTP request with one line of JSON. */
import type { ServerResponse } from "node:http";

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = `${JSON.stringify(value)}\n`;
  const type = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, ...type }).end(body);
}

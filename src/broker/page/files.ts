/** The page's files from dist/ui, each with headers that keep foreign code out. */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PalaceError } from "../../base/errors.ts";
import type { Route } from "../door/door.ts";

/** Folder of the built page. The relative path is the same from the sources and from the package. */
const FOLDER = fileURLToPath(new URL("../../../dist/ui", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The browser may run, load and call only what this door serves. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join("; ");

/** Headers of every answer of this door. */
export const SAFE_HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

/** Returns the answer for each path. Errors: STORE_UNAVAILABLE if the page is not built. */
export function fileRoutes(folder: string = FOLDER): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const name of namesIn(folder)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(join(folder, name));
    // Everybody on this machine may load the files. Their open connections must not take the owner's places.
    const headers = { ...SAFE_HEADERS, "content-type": type, "content-length": body.length, connection: "close" };
    routes.set(name === "index.html" ? "/ui/" : `/ui/${name}`, (request, response) => {
      const isRead = request.method === "GET" || request.method === "HEAD";
      if (!isRead) response.writeHead(405, { ...SAFE_HEADERS, allow: "GET, HEAD", "content-length": 0 }).end();
      else response.writeHead(200, headers).end(request.method === "GET" ? body : undefined);
    });
  }
  routes.set(
    "/ui",
    (_request, response) =>
      void response.writeHead(308, { ...SAFE_HEADERS, location: "/ui/", "content-length": 0 }).end(),
  );
  return routes;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch (error) {
    const hint = "in a clone: npm run build";
    throw new PalaceError("STORE_UNAVAILABLE", `the page is not built: there is no ${folder}`, hint, { cause: error });
  }
}

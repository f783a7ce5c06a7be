/** Version of this program, from package.json. */
import { readFileSync } from "node:fs";
import { parseRecord } from "./parse-json.ts";

const { version } = parseRecord(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

export const VERSION = String(version);

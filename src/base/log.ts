/** Structured log with one JSON object per line. */
import { cut } from "./shorten.ts";
import { withoutPassword } from "./without-password.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFields = Record<string, string | number | boolean | null | undefined>;

export type Log = {
  readonly [level in LogLevel]: (event: string, fields?: LogFields) => void;
};

/** Maximum length of a field, characters, because a peer may have sent the text. A stack trace fits. */
const FIELD_MAX = 4_000;

/** Makes a log. `write` gets one line with its line feed. It must not throw, so that a full disk loses only log lines. */
export function createLog(write: (line: string) => void, level: LogLevel): Log {
  const from = LOG_LEVELS.indexOf(level);
  const at =
    (name: LogLevel) =>
    (event: string, fields: LogFields = {}): void => {
      if (LOG_LEVELS.indexOf(name) < from) return;
      const bounded = Object.entries(fields).map(([key, value]) => [
        key,
        typeof value === "string" ? cut(withoutPassword(value), FIELD_MAX) : value,
      ]);
      const line = { atMs: Date.now(), level: name, event, ...(Object.fromEntries(bounded) as LogFields) };
      write(`${JSON.stringify(line)}\n`);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

export const SILENT_LOG: Log = createLog(() => {}, "error");

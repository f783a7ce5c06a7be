/** Kinds of settings, and how settings.json, the command line and environment variables spell their values. */
import { isAbsolute, join } from "node:path";

export type SettingValue = string | number | boolean | readonly string[];

export type Kind<T = unknown> = Readonly<{
  /** Description of the accepted values, for help and errors ("on or off"). */
  takes: string;
  /** Valid value that a hint suggests after an error. */
  example: string;
  /** Valid value of the environment variable, if `example` is not valid there. */
  exported?: string;
  isPath?: true;
  /** Checks a value from settings.json or the command line; undefined if it is bad. `home` replaces `~`. */
  parse: (given: unknown, home: string) => SettingValue | undefined;
  /** Parses an environment variable, which may accept more values than the file; undefined if the text is bad. */
  read: (text: string) => T | undefined;
  /** End of the error "NAME=VALUE is …" about a bad variable. Without `refusal`, a bad variable counts as not set. */
  refusal?: string;
}>;

export type Address = Readonly<{ host: string; port: number }>;

/** Port for the value `on`: the port of Roampal's own server. */
const OUTCOME_PORT = 27_182;
const ON = ["on", "true", "yes", "1"];
const OFF = ["off", "false", "no", "0"];
/** Maximum characters of a text or list. A longer value is refused, because the operating system limits the size of an environment. */
const TEXT_MAX = 4_096;
const NUMERAL = /^\d{1,15}(?:\.\d{1,6})?$/;

export const TEXT: Kind<string> = { takes: "a text", example: "VALUE", parse: parseText, read: asWritten };
export const FOLDER: Kind<string> = {
  takes: "the absolute path of a folder",
  example: "~/backups",
  isPath: true,
  parse: parsePath,
  read: asWritten,
};
/** Folder. The environment variable must have an absolute path, too, because the broker has no fixed working directory. */
export const ABSOLUTE_FOLDER: Kind<string> = {
  ...FOLDER,
  read: (text) => (isAbsolute(text) ? text : undefined),
  refusal: "not an absolute path",
};
export const FILE: Kind<string> = { ...FOLDER, takes: "the absolute path of a file" };
export const FOLDERS: Kind<readonly string[]> = listOf("absolute paths of folders, with colons", ":", parsePath);
export const WORDS: Kind<readonly string[]> = listOf("words, with commas", ",", parseText);
export const SWITCH: Kind<boolean> = { takes: "on or off", example: "VALUE", parse: parseSwitch, read: parseSwitch };
/** Switch whose variable is read as in MemPalace: any text except false, 0 and no means on. */
export const AUTO_SAVE: Kind<boolean> = {
  ...SWITCH,
  read: (text) => !["false", "0", "no"].includes(text.toLowerCase()),
};
/** URL without a password, because the settings file must not contain secrets. */
export const URL_ADDRESS: Kind<string> = {
  takes: "an http or https address without a password in it",
  example: "https://example.org",
  parse: (given) => {
    const url = isText(given) && /^https?:\/\//.test(given) ? URL.parse(given) : null;
    return url !== null && url.username === "" && url.password === "" ? (given as string) : undefined;
  },
  read: asWritten,
};
export const LISTEN: Kind<Address | "off"> = {
  takes: "tcp://HOST:PORT or off",
  example: "tcp://127.0.0.1:7780",
  parse: parseText,
  read: (text) => {
    if (text === "off") return text;
    const match = /^tcp:\/\/(?:\[([0-9a-fA-F:]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
    const host = match?.[1] ?? match?.[2];
    const port = Number(match?.[3]);
    return host !== undefined && port <= 65_535 ? { host, port } : undefined;
  },
  refusal: "not an address to listen on",
};
export const PORT: Kind<number | "off"> = {
  takes: "a port, on or off",
  example: "on",
  exported: String(OUTCOME_PORT),
  parse: (given, home) => {
    const text = parseText(typeof given === "number" ? String(given) : given, home);
    return text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
  },
  read: (text) => {
    const word = text.trim();
    if (word === "off") return word;
    if (word === "on") return OUTCOME_PORT;
    return /^\d{1,5}$/.test(word) && Number(word) > 0 && Number(word) <= 65_535 ? Number(word) : undefined;
  },
  refusal: "neither a port nor on or off",
};

/** Returns the `Kind` of a setting with fixed words. `more`: words that only the environment variable accepts. */
export function choice<const T extends string>(words: readonly T[], more: readonly T[] = []): Kind<T> {
  const all = [...words, ...more];
  return {
    takes: words.join(", ").replace(/, (?=[^,]*$)/, " or "),
    example: words[0] ?? "",
    parse: (given) => words.find((one) => one === (typeof given === "boolean" ? (given ? "on" : "off") : given)),
    read: (text) => all.find((one) => one === text.trim().toLowerCase()),
    refusal: `not one of ${all.join(", ")}`,
  };
}

type Range = Readonly<{ from: number; to?: number; isWhole?: boolean }>;

/** Returns the `Kind` of a numeric setting. `words`: the range in words, for an error. `least`: lower limit of the variable. */
export function number({ from, to = Infinity, isWhole = false }: Range, words = "", least = from): Kind<number> {
  const pick = (value: unknown, low: number): number | undefined =>
    typeof value === "number" && Number.isFinite(value) && value >= low && value <= to ? value : undefined;
  const what = isWhole ? "a whole number" : "a number";
  return {
    takes: to === Infinity ? `${what} from ${from} on` : `${what} from ${from} to ${to}`,
    example: "VALUE",
    parse: (given) => {
      const value = pick(typeof given === "string" && NUMERAL.test(given) ? Number(given) : given, from);
      return isWhole && !Number.isSafeInteger(value) ? undefined : value;
    },
    read: (text) => {
      const value = pick(Number(text), least);
      return value !== undefined && isWhole ? Math.ceil(value) : value;
    },
    refusal: `not a number ${words}`,
  };
}

/** Returns the `Kind` of a numeric setting whose variable may be below the range, but must be above 0. */
export function positive(range: Range, words: string): Kind<number> {
  return number(range, words, Number.MIN_VALUE);
}

/** Returns the `Kind` of a whole-number setting. A variable out of range is moved to the nearest limit; text counts as not set. */
export function wholeNumber(from: number, to = Infinity): Kind<number> {
  const { refusal: _, ...kind } = number({ from, to, isWhole: true });
  const clamp = (value: number): number => Math.min(Math.max(value, from), to);
  return { ...kind, read: (text) => (/^\+?\d{1,15}$/.test(text.trim()) ? clamp(Number(text)) : undefined) };
}

/** Returns the value as settings.json stores it; undefined if the key does not accept it. `home` replaces `~`. */
export function parseValue(kind: Kind, given: unknown, home: string): SettingValue | undefined {
  const value = kind.parse(typeof given === "string" ? given.trim() : given, home);
  return value === undefined || kind.read(asVariable(kind, value)) === undefined ? undefined : value;
}

export function asVariable(kind: Kind, value: SettingValue): string {
  return typeof value === "object" ? value.join(kind === FOLDERS ? ":" : ",") : String(value);
}

/** Formats a value as it is written on the command line (a switch as on or off). */
export function asText(kind: Kind, value: SettingValue): string {
  return typeof value === "boolean" ? (value ? "on" : "off") : asVariable(kind, value);
}

function asWritten(text: string): string {
  return text;
}

function isText(given: unknown): given is string {
  return typeof given === "string" && given !== "" && given.length <= TEXT_MAX && !/\p{Cc}/u.test(given);
}

function parseText(given: unknown, _home: string): string | undefined {
  return isText(given) ? given : undefined;
}

function parsePath(given: unknown, home: string): string | undefined {
  if (!isText(given)) return undefined;
  const path = given === "~" || given.startsWith("~/") ? join(home, given.slice(1)) : given;
  return isAbsolute(path) ? path : undefined;
}

function parseSwitch(given: unknown): boolean | undefined {
  const word = String(given).trim().toLowerCase();
  return ON.includes(word) ? true : OFF.includes(word) ? false : undefined;
}

function listOf(what: string, separator: string, parsePart: typeof parseText): Kind<readonly string[]> {
  const split = (text: string): string[] => text.split(separator).map((part) => part.trim());
  return {
    takes: `${what} between them or as a JSON array`,
    example: "VALUE",
    parse: (given, home) => {
      const parts: unknown[] = Array.isArray(given) ? given : isText(given) ? split(given) : [];
      const list = parts.map((part) =>
        Array.isArray(given) && String(part).includes(separator)
          ? undefined
          : parsePart(typeof part === "string" ? part.trim() : part, home),
      );
      return list.length > 0 && list.every((one) => one !== undefined) ? list : undefined;
    },
    read: (text) => split(text).filter(Boolean),
  };
}

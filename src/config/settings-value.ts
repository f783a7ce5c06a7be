/** Converts one value between the settings file, the command line and the environment. Pure. Imported by the files beside it and bin. */
import { isAbsolute, join } from "node:path";
import type { Kind, NumberKind } from "./settings-table.ts";

export type SettingValue = string | number | boolean | string[];

const ON = ["on", "true", "yes", "1"];
const OFF = ["off", "false", "no", "0"];
/** A longer value is a mistake, and an environment has limits. */
const TEXT_MAX = 4_096;

/** Returns the value in the file's own types; undefined: the key does not take it. `home` is what `~` means. */
export function parseValue(kind: Kind, given: unknown, home: string): SettingValue | undefined {
  const value = typeof given === "string" ? given.trim() : given;
  if (typeof kind !== "string") return "from" in kind ? parseNumber(kind, value) : parseChoice(kind, value);
  if (kind === "switch") return parseSwitch(value);
  if (kind === "words" || kind === "folders") return parseList(kind, value, home);
  const text = kind === "port" && typeof value === "number" ? String(value) : isText(value) ? value : "";
  if (text === "") return undefined;
  if (kind === "folder" || kind === "file") return parsePath(text, home);
  if (kind === "url") return isPlainAddress(text) ? text : undefined;
  return kind === "port" && /^\d+$/.test(text) ? Number(text) : text;
}

/** Returns a value as its environment variable has it. */
export function asVariable(kind: Kind, value: SettingValue): string {
  return Array.isArray(value) ? value.join(kind === "folders" ? ":" : ",") : String(value);
}

/** Returns a value as a person types it. */
export function asText(kind: Kind, value: SettingValue): string {
  return kind === "switch" ? (value === true ? "on" : "off") : asVariable(kind, value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= TEXT_MAX && !/\p{Cc}/u.test(value);
}

function parseNumber({ from, to = Infinity, isWhole = false }: NumberKind, value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}(?:\.\d{1,6})?$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || number < from || number > to) return undefined;
  return isWhole && !Number.isSafeInteger(number) ? undefined : number;
}

/** Accepts true and false where the choice has on and off. */
function parseChoice(choice: readonly string[], value: unknown): string | undefined {
  const word = typeof value === "boolean" ? (value ? "on" : "off") : value;
  return choice.find((one) => one === word);
}

function parseSwitch(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  const word = String(value).toLowerCase();
  return ON.includes(word) ? true : OFF.includes(word) ? false : undefined;
}

function parseList(kind: "words" | "folders", value: unknown, home: string): string[] | undefined {
  const separator = kind === "folders" ? ":" : ",";
  const parts: unknown[] = Array.isArray(value) ? value : isText(value) ? value.split(separator) : [];
  const texts = parts.map((part) =>
    isText(part) && !(Array.isArray(value) && part.includes(separator)) ? part.trim() : "",
  );
  const list = texts.map((text) => (kind === "folders" && text !== "" ? parsePath(text, home) : text || undefined));
  return list.length > 0 && list.every((one) => one !== undefined) ? list : undefined;
}

function parsePath(text: string, home: string): string | undefined {
  const path = text === "~" || text.startsWith("~/") ? join(home, text.slice(1)) : text;
  return isAbsolute(path) ? path : undefined;
}

/** A password in an address is a secret, and the file is not for secrets. */
function isPlainAddress(text: string): boolean {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

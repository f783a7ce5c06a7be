/** Tests that secrets of every kind are masked, and that texts that only look like secrets are not. */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { redact, redactAnswer } from "../../../src/memory/text/redact.ts";
import { cpuTimeOf } from "../../helpers/cpu-time.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** Returns a fake token. Building it at run time keeps scanners from finding a token in this repository. */
const made = (prefix: string, length: number): string =>
  prefix + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z".repeat(9).slice(0, length);
const upper = (prefix: string, length: number): string =>
  prefix + "ABCDEFGH234567QRSTUVWXYZ".repeat(9).slice(0, length);
const hex = (prefix: string, length: number): string => prefix + "0123456789abcdef".repeat(9).slice(0, length);
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const JWT = `${base64url({ alg: "HS256", typ: "JWT" })}.${base64url({ sub: "1234567890", name: "me" })}.${made("", 43)}`;
const BODY = Array.from({ length: 8 }, (_, n) => made("", 64 - n)).join("\n");
const armour = (kind: string, body: string): string =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${body}\n-----END ${kind}PRIVATE KEY-----`;

type Case = readonly [kind: string, secret: string, around?: (secret: string) => string];
const CASES: readonly Case[] = [
  ["aws access key", upper("AKIA", 16)],
  ["aws secret", made("", 40), (s) => `aws_secret_access_key = ${s}`],
  ["aws secret", made("", 40), (s) => `"SecretAccessKey": "${s}",`],
  ["github token", made("ghp_", 36)],
  ["github token", made("github_pat_", 82)],
  ["gitlab token", made("glpat-", 20)],
  ["slack token", made("xoxb-1234567890-", 30)],
  ["webhook", `T${upper("", 8)}/B${upper("", 8)}/${made("", 24)}`, (s) => `https://hooks.slack.com/services/${s}`],
  ["api key", made("sk-proj-", 60)],
  ["api key", made("sk-", 48)],
  ["stripe key", made("sk_live_", 24)],
  ["google key", made("AIza", 35)],
  ["npm token", made("npm_", 36)],
  ["pypi token", made("pypi-", 80)],
  ["hub token", made("hf_", 34)],
  ["cloud token", hex("dop_v1_", 64)],
  ["mail key", `SG.${made("", 22)}.${made("", 43)}`],
  ["vault token", made("hvs.", 24)],
  ["bot token", made("123456789:AA", 33)],
  ["json web token", JWT],
  ["bearer token", made("", 32), (s) => `Authorization: Bearer ${s}`],
  ["basic credentials", "dXNlcjpwYXNz", (s) => `-H 'Authorization: Basic ${s}'`],
  ["storage key", `${made("", 86)}==`, (s) => `DefaultEndpointsProtocol=https;AccountKey=${s};Suffix=x`],
  ["password in address", "tr0ub4dor", (s) => `postgres://me:${s}@db.example.org:5432/app`],
  ["password in address", "l0nely-one", (s) => `redis://:${s}@cache`],
  ["private key", BODY, (s) => armour("RSA ", s)],
  ["private key", BODY, (s) => JSON.stringify({ key: armour("OPENSSH ", s) })],
  ["private key", BODY, (s) => armour("", s).replace(/\n-----END.*/, "")],
];

const SECRETS = CASES.map(([kind, secret, around = (s) => s]) => ({ kind, secret, around }));

it.each(SECRETS)("$kind is masked: %#", ({ kind, secret, around }) => {
  for (const text of [around(secret), `before (${around(secret)}) after`, `x = "${around(secret)}"\nnext line`]) {
    const { text: masked, kinds } = redact(text, "recall");
    expect(masked).toContain(`[redacted: ${kind}]`);
    expect(masked).not.toContain(secret);
    expect(masked).not.toContain(secret.slice(5, 25).replaceAll("\n", "\\n"));
    expect(kinds).toContain(kind);
    // Masking twice changes nothing more, because a mask is not a secret.
    expect(redact(masked, "recall")).toEqual({ text: masked, kinds: [] });
    expect(redact(text, "off")).toEqual({ text, kinds: [] });
  }
});

test("the text around a secret stays", () => {
  const secret = made("ghp_", 36);
  expect(redact(`use ${secret}, then ${secret}.`, "recall").text).toBe(
    "use [redacted: github token], then [redacted: github token].",
  );
  expect(redact("postgres://me:s3cretly@db/app", "recall").text).toBe(
    "postgres://me:[redacted: password in address]@db/app",
  );
});

/** Code, hashes, ids and images, which masking must not change. */
const HARMLESS: readonly (readonly [what: string, text: () => string])[] = [
  ["this repository's lock file", () => readFileSync(join(ROOT, "package-lock.json"), "utf8")],
  ["this repository's sources", () => sources(join(ROOT, "src"))],
  ["this repository's own pages", () => sources(join(ROOT, "docs"))],
  ["git commits", () => lines(500, (n) => `commit ${createHash("sha1").update(String(n)).digest("hex")}`)],
  ["sha-256 and sha-512 sums", () => lines(500, (n) => sum("sha256", n, "hex") + sum("sha512", n, "hex"))],
  ["integrity strings", () => lines(500, (n) => `integrity sha512-${sum("sha512", n, "base64")}`)],
  ["UUIDs", () => lines(1000, () => randomUUID())],
  [
    "images as base64",
    () => lines(20, () => `![](data:image/png;base64,iVBOR${randomBytes(6000).toString("base64")})`),
  ],
  ["base64url of anything", () => lines(200, () => randomBytes(300).toString("base64url"))],
  ["drawer ids", () => lines(200, (n) => `drawer_wing_room_${sum("sha256", n, "hex").slice(0, 24)}`)],
  [
    "addresses without a password",
    () => "https://example.org/@scope/pkg ssh://git@host:22/x http://[::1]:80/a@b mailto:a@b.c",
  ],
  ["placeholders", () => "postgres://user:password@host/db https://me:$TOKEN@host https://u:<pass>@h mysql://u:***@h"],
  [
    "code about keys",
    () => `if (text.includes("-----BEGIN PRIVATE KEY-----")) throw new Error("AKIA…, ghp_… and sk-… are keys")`,
  ],
  [
    "prose",
    () => "The bearer authentication of the sk-learn task-runner-configuration-management-service-layer is eyJ-like.",
  ],
  [
    "a css class",
    () =>
      `.sk-circle-fade-dot { animation: sk-circle-fade-dot 1.2s } .task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa {}`,
  ],
];

it.each(HARMLESS)("harmless text is not masked: %s", (_what, text) => {
  const given = text();
  expect(given.length).toBeGreaterThan(60);
  expect(redact(given, "recall")).toEqual({ text: given, kinds: [] });
});

test("strict masking covers values assigned to a secret's name, recall masking does not", () => {
  const text = `DB_PASSWORD=corr3ct-horse\napi_key: "q1w2e3r4t5"`;
  expect(redact(text, "recall").kinds).toEqual([]);
  expect(redact(text, "strict").text).toBe(
    `DB_PASSWORD=[redacted: assigned secret]\napi_key: "[redacted: assigned secret]"`,
  );
});

test("an answer lists the masked kinds, and an answer without secrets is returned unchanged", async () => {
  const clean = { results: [{ text: "nothing here", similarity: 0.5 }], total: null };
  expect(await redactAnswer(clean, "recall")).toBe(clean);
  const secret = made("ghp_", 36);
  const answer = await redactAnswer({ results: [{ text: secret, wing: "w" }, { text: `${secret} ${JWT}` }] }, "recall");
  expect(JSON.stringify(answer)).not.toContain(secret);
  expect(answer).toMatchObject({
    results: [{ text: "[redacted: github token]", wing: "w" }, {}],
    redacted: { count: 3, kinds: ["github token", "json web token"] },
  });
  const taxonomy = Object.assign(Object.create(null), { ["__proto__"]: { a: 1 } });
  expect(await redactAnswer({ taxonomy, secret }, "recall")).toMatchObject({ secret: "[redacted: github token]" });
});

test("a large answer is masked in parts, and other requests run between them", async () => {
  const answer = { results: Array.from({ length: 64 }, () => ({ content: "harbour ".repeat(8_000) })) };
  let turns = 0;
  let next = setImmediate(function other() {
    turns += 1;
    next = setImmediate(other);
  });
  expect(await redactAnswer(answer, "recall")).toBe(answer);
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(4);
});

/** Texts on which a careless regular expression takes quadratic time. */
const HOSTILE: readonly (readonly [what: string, text: (n: number) => string])[] = [
  ["beginnings of tokens", (n) => "eyJ-".repeat(n / 4)],
  ["halves of web tokens", (n) => "eyJhbGciOiJ.".repeat(n / 12)],
  ["armour that never ends", (n) => "-----BEGIN RSA PRIVATE KEY-----\n".repeat(n / 32)],
  ["base64 behind armour", (n) => `-----BEGIN PRIVATE KEY-----${"A".repeat(n)}`],
  ["schemes", (n) => "://".repeat(n / 3)],
  ["colons in an address", (n) => `://${"a:".repeat(n / 2)}`],
  ["bearers", (n) => "bearer ".repeat(n / 7)],
  ["assignments", (n) => "token=".repeat(n / 6)],
  ["spaces", (n) => `x-api-key${" ".repeat(n)}`],
  ["one letter", (n) => "a".repeat(n)],
  ["dashes", (n) => "-".repeat(n)],
  ["token prefixes", (n) => "ghp_sk-AKIAxoxb-".repeat(n / 16)],
];

it.each(HOSTILE)("%s are searched for secrets in linear time", (_what, text) => {
  const took = (value: string): number => cpuTimeOf(() => redact(value, "strict"));
  const [small, large] = [text(20_000), text(400_000)];
  took(small);
  const before = Math.max(Math.min(took(small), took(small), took(small)), 0.3);
  // Twenty times the text must take twenty times the work, not four hundred times. A busy machine gets several attempts.
  let ratio = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 8 && ratio >= 100; attempt++) ratio = Math.min(ratio, took(large) / before);
  expect(ratio).toBeLessThan(100);
});

function lines(count: number, line: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => line(n)).join("\n");
}

function sum(algorithm: string, n: number, encoding: "hex" | "base64"): string {
  return createHash(algorithm).update(String(n)).digest(encoding);
}

function sources(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"))
    .join("\n");
}

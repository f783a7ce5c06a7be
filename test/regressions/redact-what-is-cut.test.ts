/** A preview that cut a token in its middle showed the rest of it, because no pattern matched a shortened token. */
import { describe, expect, test } from "vitest";
import { redact } from "../../src/memory/text/redact.ts";

const MIXED = "a1B2c3D4".repeat(16);
const SECRETS: Readonly<Record<string, string>> = {
  github: `ghp_${MIXED.slice(0, 36)}`,
  gitlab: `glpat-${MIXED.slice(0, 20)}`,
  slack: `xoxb-${MIXED.slice(0, 30)}`,
  model: `sk-ant-${MIXED.slice(0, 60)}`,
  google: `AIza${MIXED.slice(0, 35)}`,
  npm: `npm_${MIXED.slice(0, 36)}`,
  aws: `aws_secret_access_key = ${MIXED.slice(0, 40)}`,
  storage: `AccountKey=${MIXED.slice(0, 86)}==`,
  bearer: `Authorization: Bearer ${MIXED.slice(0, 24)}`,
  address: `postgres://app:${MIXED.slice(0, 24)}@db.example/app`,
};

describe("a secret in a shortened preview", () => {
  for (const [name, secret] of Object.entries(SECRETS))
    test(`${name} is masked at every cut position`, () => {
      for (let end = secret.indexOf(MIXED.slice(0, 8)) + 8; end <= secret.length; end++)
        for (const mark of ["...", "…", ""]) {
          const { text, kinds } = redact(`what we use is ${secret.slice(0, end)}${mark}`, "recall");
          expect(kinds.length, text).toBe(1);
          expect(text).not.toContain(MIXED.slice(0, 8));
        }
    });

  test("text without a secret stays unchanged", () => {
    for (const text of [
      "see http://localhost:8080",
      "see http://localhost:27182...",
      "the prefix is ghp_",
      "a file named sk-learn-notes",
      "a wish-list: sk-everything-else",
      "deadbeef:AA",
      "Bearer authentication...",
      "npm_config_registry",
      "npm_lifecycle_event...",
      "https://example.org/a:b1c2d3e4f5",
      "the SG.",
      "what sk-learn-model2024 does",
      "see pypi-server2023beta",
      "call hf_hub_download2file",
      "hf_transfer",
      "xoxb-your-token-here",
    ])
      expect(redact(text, "recall"), text).toEqual({ text, kinds: [] });
  });
});

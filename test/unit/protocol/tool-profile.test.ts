/** Tests the tool profiles. The token estimate is above the count of any common tokenizer; real counts are about half of it. */
import { expect, test } from "vitest";
import { checkArguments } from "../../../src/protocol/tools/arguments.ts";
import { toolsOf } from "../../../src/protocol/tools/profile.ts";
import { findTool, TOOLS } from "../../../src/protocol/tools/table.ts";

const LETTERS_PER_TOKEN = 4;

function tokensAtMost(text: string): number {
  const pieces = text.match(/\p{L}+|[^\p{L}\s]/gu) ?? [];
  return pieces.reduce((sum, piece) => sum + Math.ceil(Array.from(piece).length / LETTERS_PER_TOKEN), 0);
}

test("the token estimate counts four letters, a digit or a punctuation mark as one token", () => {
  expect(tokensAtMost('{"wing": "über 42"}')).toBe(1 + 1 + 1 + 1 + 1 + 1 + 1 + 2 + 1 + 1);
  expect(tokensAtMost("memories")).toBe(2);
});

test("the light profile has at most eight tools, and at most 1,500 tokens with names, descriptions and schemas", () => {
  const light = toolsOf("light");
  expect(light.length).toBeLessThanOrEqual(8);
  expect(light.length).toBeGreaterThan(4);
  expect(tokensAtMost(JSON.stringify(light))).toBeLessThanOrEqual(1500);
  expect(tokensAtMost(JSON.stringify(toolsOf("full")))).toBeGreaterThan(1500);
});

test("a tool of the light profile is the full tool with fewer parameters", () => {
  for (const { name, inputSchema, ...shown } of toolsOf("light")) {
    const full = toolsOf("full").find((one) => one.name === name) ?? expect.fail(name);
    expect({ ...shown, name, inputSchema: full.inputSchema }).toEqual(full);
    expect(full.inputSchema.properties).toMatchObject(inputSchema.properties);
    const given = Object.fromEntries((inputSchema.required ?? []).map((key) => [key, "x"]));
    expect(checkArguments(findTool(name) ?? expect.fail(name), given), name).toMatchObject({ ok: true });
  }
});

test("every tool is in the full profile or in the outcome profile", () => {
  const listed = [...toolsOf("full"), ...toolsOf("outcome")].map(({ name }) => name);
  expect(listed).toEqual(TOOLS.map(({ fullName }) => fullName));
  expect(toolsOf("full").every(({ name }) => name.startsWith("mempalace_"))).toBe(true);
});

test("each tool has the position in the light profile that its row of the tool table gives", () => {
  const places = TOOLS.flatMap(({ fullName, light }) => (light === undefined ? [] : [[fullName, light.place]]));
  const shown = toolsOf("light").map(({ name }, index) => [name, index + 1]);
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(places));
  for (const { light, properties } of TOOLS)
    expect(Object.keys(properties)).toEqual(expect.arrayContaining([...(light?.shown ?? [])]));
});

/** Tests of a fact's times: upstream's formats and messages, half-open intervals, and moments with an offset. */
import { describe, expect, it } from "vitest";
import {
  endsBy,
  holdsAt,
  isInverted,
  isOver,
  nowAt,
  startsAfter,
  validTemporal,
} from "../../../src/memory/graph/temporal.ts";

const fact = (validFrom: string | null, validTo: string | null) => ({ validFrom, validTo });

describe("a moment from an agent", () => {
  it.each([
    ["2026-01-02", "2026-01-02"],
    [" 2026-01-02T10:00:00Z ", "2026-01-02T10:00:00Z"],
    ["2026-01-02T10:00:00+00:00", "2026-01-02T10:00:00Z"],
    ["2024-02-29", "2024-02-29"],
    ["2026-05-06T23:00:00-08:00", "2026-05-07T07:00:00Z"],
    ["2026-01-01T01:30:00+0200", "2025-12-31T23:30:00Z"],
    ["2026-01-02T10:00:00+05:30", "2026-01-02T04:30:00Z"],
    ["", null],
    [null, null],
    [undefined, null],
  ])("an agent's time %j is read as %j", (given, taken) => {
    expect(validTemporal(given, "as_of")).toBe(taken);
  });

  it.each([
    ...["2026", "2026-01", "2026-02-30", "2026-13-01", "2025-02-29", "0000-01-01", "yesterday", "  "],
    ...["2026-01-02T10:00:00", "2026-01-02T10:00:00.5Z", "2026-01-02 10:00:00Z"],
    ...["2026-01-02T24:00:00Z", "2026-01-02T10:60:00Z", "2026-02-30T10:00:00+02:00", "2026-01-02T10:00:00+24:00"],
    ...["0001-01-01T00:00:00+02:00", "9999-12-31T23:30:00-01:00", "2026-01-02T10:00:00+02:60"],
  ])("an agent's time %j is refused in upstream's words", (given) => {
    expect(() => validTemporal(given, "valid_from")).toThrow(
      `valid_from='${given.trim()}' is not a valid ISO-8601 date or UTC datetime (expected YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ)`,
    );
  });

  it("an agent's time must be a string", () => {
    expect(() => validTemporal(2026, "ended")).toThrow("ended must be a string");
  });
});

describe("a fact with a start and an end", () => {
  it.each([
    ["2025-01-01", "2025-06-01", "2024-12-31T23:59:59Z", false],
    ["2025-01-01", "2025-06-01", "2025-01-01", true],
    // An end date includes its whole day, except for the last second.
    ["2025-01-01", "2025-06-01", "2025-06-01T23:59:58Z", true],
    ["2025-01-01", "2025-06-01", "2025-06-01T23:59:59Z", false],
    ["2025-01-01", "2025-06-01T12:00:00Z", "2025-06-01T11:59:59Z", true],
    ["2025-01-01", "2025-06-01T12:00:00Z", "2025-06-01T12:00:00Z", false],
    [null, null, "1999-01-01", true],
    // Rows of MemPalace 3.3.4 and older, which accepted any text as a time.
    ["2025-06-01T01:00:00+02:00", null, "2025-05-31T23:00:00Z", true],
    ["2025-06-01T01:00:00+02:00", null, "2025-05-31T22:59:59Z", false],
    ["2025-05-31T20:00:00-0500", null, "2025-06-01T00:59:59Z", false],
    ["2025-06-01 10:00:00.250", null, "2025-06-01T10:00:00Z", false],
    ["2025-06-01T10:00", null, "2025-06-01T10:00:00Z", true],
    ["2025", null, "2025-01-01", true],
    ["2026", null, "2025-01-01", false],
    ["last spring", null, "2025-01-01", false],
  ])("whether a fact from %j to %j is valid at %j: %j", (from, to, moment, holds) => {
    expect(holdsAt(fact(from, to), moment)).toBe(holds);
  });

  it("a fact and its successor: at each moment exactly one of the two is valid", () => {
    const boundary = "2025-06-01T00:00:00Z";
    for (const moment of ["2025-05-31T23:59:59Z", boundary, "2025-06-01", "2025-06-01T00:00:01Z"]) {
      const holding = [fact(null, boundary), fact(boundary, null)].filter((one) => holdsAt(one, moment));
      expect(holding, moment).toHaveLength(1);
    }
  });

  it("a fact is past after its end, and future before its start", () => {
    expect(endsBy(fact(null, "2025-01-01"), "2025-01-02")).toBe(true);
    expect(endsBy(fact(null, null), "2025-01-02")).toBe(false);
    expect(startsAfter(fact("2025-01-03", null), "2025-01-02")).toBe(true);
    expect(startsAfter(fact(null, null), "2025-01-02")).toBe(false);
  });

  it.each([
    ["2025-06-01", "2025-06-01", false],
    ["2025-06-01", "2025-05-31", true],
    ["2025-06-01T12:00:00Z", "2025-06-01", false],
    ["2025-06-02T00:00:00Z", "2025-06-01", true],
    [null, "2025-06-01", false],
    ["2025-06-01", null, false],
  ])("a fact from %j to %j counts as ending before it starts: %j", (from, to, inverted) => {
    expect(isInverted(from, to)).toBe(inverted);
  });
});

describe("the end of a fact at the present moment", () => {
  const noon = { moment: "2025-06-01T12:00:00Z", today: "2025-06-01" };
  it.each([
    [null, false],
    ["2025-05-31", true],
    ["2025-06-01", true],
    ["2025-06-02", false],
    ["2025-06-01T12:00:00Z", true],
    ["2025-06-01T12:00:01Z", false],
    ["2025-06-01T13:30:00+02:00", true],
  ])("at noon of 2025-06-01, a fact that ends %s counts as over: %s", (validTo, over) => {
    expect(isOver({ validTo }, noon)).toBe(over);
  });

  it("today is the later of the local and the UTC date", () => {
    const before = process.env["TZ"];
    try {
      for (const [zone, today] of [
        ["Pacific/Auckland", "2025-06-02"],
        ["Pacific/Honolulu", "2025-06-01"],
      ] as const) {
        process.env["TZ"] = zone;
        expect(nowAt(Date.parse("2025-06-01T20:00:00Z"))).toEqual({ moment: "2025-06-01T20:00:00Z", today });
      }
      expect(nowAt(Date.parse("2025-06-02T02:00:00Z")).today).toBe("2025-06-02");
    } finally {
      if (before === undefined) delete process.env["TZ"];
      else process.env["TZ"] = before;
    }
  });
});

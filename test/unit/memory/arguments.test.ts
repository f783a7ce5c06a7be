/** Checks of a call's arguments: they accept the parameter names in upstream's skill texts and refuse unknown names. */
import { describe, expect, test } from "vitest";
import { checkArguments } from "../../../src/protocol/tools/arguments.ts";
import { findTool } from "../../../src/protocol/tools/table.ts";

function check(tool: string, given: unknown): unknown {
  const row = findTool(`mempalace_${tool}`) ?? expect.unreachable(`no tool ${tool}`);
  const checked = checkArguments(row, given);
  return checked.ok ? checked.values : checked.error.message;
}

describe("an alternative name of a parameter is accepted", () => {
  test.each([
    ["traverse", { room: "auth" }, { start_room: "auth" }],
    ["traverse", { room: "auth", start_room: "billing" }, { start_room: "billing" }],
    ["find_tunnels", { wing1: "a", wing2: "b" }, { wing_a: "a", wing_b: "b" }],
    ["find_tunnels", { wing2: "b" }, { wing_b: "b" }],
    ["diary_write", { agent_name: "me", content: "c" }, { agent_name: "me", entry: "c" }],
  ])("the tool %s accepts %j", (tool, given, taken) => expect(check(tool, given)).toEqual(taken));

  test("a parameter name of another tool is refused", () => {
    expect(check("list_rooms", { wing1: "a" })).toBe("Unknown parameter 'wing1' for tool mempalace_list_rooms");
    expect(check("traverse", { constructor: "a" })).toBe("Unknown parameter 'constructor' for tool mempalace_traverse");
  });

  test("a missing parameter is reported by its main name", () => {
    expect(check("traverse", {})).toBe("Missing required parameter 'start_room' for tool mempalace_traverse");
    expect(check("diary_write", {})).toBe(
      "Missing required parameters 'agent_name', 'entry' for tool mempalace_diary_write",
    );
    expect(check("find_tunnels", {})).toEqual({});
  });
});
